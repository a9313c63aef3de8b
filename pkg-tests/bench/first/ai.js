import { createAnthropic } from "@ai-sdk/anthropic";
import { streamText } from "ai";

const provider = createAnthropic({ apiKey: "sk-test", baseURL: `${model}/v1`, headers: { "anthropic-dangerous-direct-browser-access": "true" } });
for await (const delta of streamText({ model: provider("claude-sonnet-4-6"), prompt: "Go", maxRetries: 0 }).textStream) show(delta);
