// Writes one store with zarr.js, as its documentation begins: write.mjs FOLDER.
import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";

const require = createRequire(path.join(process.cwd(), "package.json"));
const { openArray, NestedArray } = require("zarr");
const folder = process.argv[2];
const place = (key) => path.join(folder, key);
const store = {
  getItem: (key) => fs.promises.readFile(place(key)).then((bytes) => new Uint8Array(bytes).buffer),
  setItem: async (key, value) => {
    await fs.promises.mkdir(path.dirname(place(key)), { recursive: true });
    await fs.promises.writeFile(place(key), typeof value === "string" ? value : Buffer.from(value));
    return true;
  },
  deleteItem: async (key) => fs.promises.rm(place(key)).then(() => true),
  containsItem: async (key) => fs.existsSync(place(key)),
  keys: async () => [],
};
const array = await openArray({ store, path: "data", shape: [20, 30], chunks: [10, 10], dtype: "<i4", mode: "w", compressor: null, fillValue: 0 });
await array.set(null, new NestedArray(Int32Array.from({ length: 600 }, (_, i) => i), [20, 30], "<i4"));
