// From the document to a request: what an operation takes, what the caller has filled in, and the same as curl.

const METHODS = ["get", "put", "post", "delete"];

/** Follows a reference inside the document. */
export function resolve(api, thing) {
  if (!thing || !thing.$ref) return thing ?? {};
  const found = thing.$ref.slice(2).split("/").reduce((at, name) => at?.[name], api);
  return resolve(api, found);
}

/** All operations, with their parameters looked up. */
export function operations(api) {
  const all = [];
  for (const [path, item] of Object.entries(api.paths)) {
    for (const method of METHODS.filter((method) => item[method])) {
      const operation = item[method];
      const listed = [...(operation.parameters ?? []), ...(operation["x-parameters"] ?? [])];
      const parameters = listed.map((one) => resolve(api, one));
      all.push({ ...operation, id: operation.operationId, method: method.toUpperCase(), path, parameters });
    }
  }
  return all;
}

/** Something that a schema allows, to begin with. */
export function example(api, schema, depth = 0) {
  const shape = resolve(api, schema);
  if (shape.example !== undefined) return shape.example;
  if (shape.examples?.length) return shape.examples[0];
  if (shape.default !== undefined) return shape.default;
  if (shape.enum) return shape.enum[0];
  const choice = (shape.oneOf ?? shape.anyOf ?? []).find((one) => one.type !== "null");
  if (choice) return example(api, choice, depth);
  const type = [shape.type].flat()[0];
  if (type === "object") {
    const wanted = Object.entries(shape.properties ?? {}).filter(([name, property]) =>
      shape.required?.includes(name) || (depth === 0 && property.example !== undefined));
    return Object.fromEntries(wanted.map(([name, property]) => [name, example(api, property, depth + 1)]));
  }
  if (type === "array") return [];
  if (type === "integer" || type === "number") return shape.minimum ?? 0;
  return type === "boolean" ? false : "";
}

/** The request that is filled in: `values` by place and name. */
export function build(operation, values, token) {
  let path = operation.path;
  const query = new URLSearchParams();
  const headers = [];
  if (token) headers.push(["Authorization", `Bearer ${token}`]);
  for (const parameter of operation.parameters) {
    const value = values[`${parameter.in}:${parameter.name}`] ?? "";
    if (parameter.in === "path") path = path.replace(`{${parameter.name}}`, encodeURIComponent(value));
    else if (value === "") continue;
    else if (parameter.in === "query") query.append(parameter.name, value);
    else headers.push([parameter.name, value]);
  }
  const more = (values.more ?? "").split("\n").map((line) => line.match(/^\s*([^:\s]+)\s*:\s*(.*?)\s*$/));
  headers.push(...more.filter(Boolean).map(([, name, value]) => [name, value]));
  const hasBody = operation.requestBody && values.body !== undefined;
  if (hasBody && values.kind) headers.push(["Content-Type", values.kind]);
  const search = query.size ? `?${query}` : "";
  return { method: operation.method, url: path + search, headers, body: hasBody ? values.body : undefined };
}

/** The same request for a shell. The token stays out of it. */
export function curl(request, origin) {
  const words = ["curl -i"];
  if (request.method !== "GET") words.push(`-X ${request.method}`);
  for (const [name, value] of request.headers) {
    words.push(name === "Authorization" ? '-H "Authorization: Bearer $TOKEN"' : `-H ${quoted(`${name}: ${value}`)}`);
  }
  if (request.body) words.push(`--data-binary ${quoted(request.body)}`);
  words.push(quoted(origin + request.url));
  const line = words.join(" ");
  return line.length < 80 && !line.includes("\n") ? line : words.join(" \\\n  ");
}

function quoted(text) {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
