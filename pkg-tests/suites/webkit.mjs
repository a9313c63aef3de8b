// In WebKitGTK: the scenarios of the agent lifecycle, sessions, keys, and two tabs, as other suites show them in Chromium and Firefox.
import { onBothHosts } from "../lib/tabs.mjs";
import { inWebKit } from "../lib/webkit.mjs";
import { takeOver, viewer } from "./firefox.mjs";
import { betweenTabs } from "./keys.mjs";
import scenarios from "./scenarios-000.mjs";

// They share a driver.
export const together = true;

export default function (test) {
  const on = (title, body, options) => test(title, inWebKit(body), options);
  scenarios(on);
  onBothHosts(on, viewer, takeOver, betweenTabs);
}
