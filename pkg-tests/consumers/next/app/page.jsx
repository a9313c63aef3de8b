"use client";
import { useEffect } from "react";
import { shop } from "../shop.js";

export default function Page() {
  useEffect(shop, []);
  return (
    <>
      <button id="open">Open</button><button id="send">Buy</button><button id="save">Save</button>
      <ul id="log" />
      <p id="error" />
      <pre id="saved" />
    </>
  );
}
