// Reads arrays by zarr.js over HTTP, as a viewer in a browser does: node read_zarr_js.mjs URL ARRAY... prints a JSON object,
// {ARRAY: {shape, values}}, with the values in C order.
import { createRequire } from "node:module";

const load = createRequire(process.env.ZARR_JS + "/");
const { HTTPStore, addCodec, openArray } = load("zarr");
// Viewers add this one too.
addCodec("zstd", async () => (await import(load.resolve("numcodecs/zstd"))).default);
const [url, ...paths] = process.argv.slice(2);
const found = {};
for (const path of paths) {
  const array = await openArray({ store: new HTTPStore(url), path, mode: "r" });
  const raw = await array.getRaw(null);
  found[path] = { shape: array.shape, values: Array.from(raw.data ?? [raw]) };
}
console.log(JSON.stringify(found));
