import { shop } from "./shop.js";

shop();
