import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({ apiKey: "sk-test", baseURL: model, dangerouslyAllowBrowser: true, maxRetries: 0 });
client.messages.stream({ model: "claude-sonnet-4-6", max_tokens: 8192, messages: [{ role: "user", content: "Go" }] }).on("text", show);
