export default { test: { include: ["*.test.js"], testTimeout: 20_000 } };
