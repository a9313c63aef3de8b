import { stream } from "@earendil-works/pi-ai/api/anthropic-messages";

const sonnet = { id: "claude-sonnet-4-6", name: "m", api: "anthropic-messages", provider: "anthropic", reasoning: false, input: ["text"], cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, contextWindow: 200000, maxTokens: 8192, baseUrl: model };
for await (const event of stream(sonnet, { messages: [{ role: "user", content: "Go", timestamp: 0 }] }, { apiKey: "sk-test" })) if (event.type === "text_delta") show(event.delta);
