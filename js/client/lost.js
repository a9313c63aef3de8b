// What a page hears when what its workspace had stored is gone. A module of its own: few pages ever do.

export const error = {
  code: "storage_lost",
  message: "What this workspace had stored is gone: the browser or somebody else has deleted its database.",
  retryable: false,
  hint: "Tell the person. The lost of storage() says so until its acknowledge() is called.",
};
