"""SmolLM2-135M-Instruct on NumPy, as a provider: a real language model, slow and small, without network and key.

Names of tools and keys of arguments are forced, so that each call is valid; the model decides between the names, and
writes the values. Better descriptions do not change its choice.
"""

import json
import re
from functools import cached_property
from itertools import pairwise

import gguf
import numpy as np

from tools_agent import Assistant, System, ToolResult, User
from tools_core import ToolCall

# Spaces and control characters have printable stand-ins in the vocabulary, as in GPT-2.
_PRINTABLE = [*range(33, 127), *range(161, 173), *range(174, 256)]
_OTHERS = [byte for byte in range(256) if byte not in _PRINTABLE]
BYTES = {byte: chr(byte) for byte in _PRINTABLE} | {byte: chr(256 + place) for place, byte in enumerate(_OTHERS)}
CHARACTERS = {char: byte for byte, char in BYTES.items()}
SPECIAL = re.compile(r"(<\|im_start\|>|<\|im_end\|>)")
WORDS = re.compile(r"'(?:[sdmt]|ll|ve|re)| ?[^\W\d_]+| ?[^\s\w]+| ?_+|\s+(?!\S)|\s+|\d")


class Network:
    """The weights, the tokenizer, and `feed`, which returns the logits of the next token and extends the cache."""

    def __init__(self, path):
        reader = gguf.GGUFReader(path)
        self.weights = {tensor.name: self._dequantize(tensor) for tensor in reader.tensors}
        fields = {name: field.contents() for name, field in reader.fields.items() if not name.startswith("GGUF.")}
        self.tokens = fields["tokenizer.ggml.tokens"]
        self.ids = {token: id for id, token in enumerate(self.tokens)}
        self.ranks = {tuple(merge.split(" ")): rank for rank, merge in enumerate(fields["tokenizer.ggml.merges"])}
        self.layers, self.heads = fields["llama.block_count"], fields["llama.attention.head_count"]
        self.groups = fields["llama.attention.head_count_kv"]
        self.epsilon = fields["llama.attention.layer_norm_rms_epsilon"]
        self.size = fields["llama.rope.dimension_count"]
        self.frequencies = fields["llama.rope.freq_base"] ** (-np.arange(0, self.size, 2) / self.size)

    @staticmethod
    def _dequantize(tensor):
        return gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)

    def encode(self, text):
        parts = [[part] if SPECIAL.match(part) else WORDS.findall(part) for part in SPECIAL.split(text)]
        return [id for words in parts for word in words for id in self._encode_word(word)]

    def _encode_word(self, word):
        if SPECIAL.match(word):
            return [self.ids[word]]
        pieces = [BYTES[byte] for byte in word.encode()]
        while len(pieces) > 1:
            pairs = list(pairwise(pieces))
            best = min(pairs, key=lambda pair: self.ranks.get(pair, np.inf))
            if best not in self.ranks:
                break
            place = pairs.index(best)
            pieces[place : place + 2] = ["".join(best)]
        return [self.ids[piece] for piece in pieces]

    def decode(self, ids):
        text = "".join(self.tokens[id] for id in ids)
        return bytes(CHARACTERS[char] for char in text if char in CHARACTERS).decode("utf-8", "replace")

    def feed(self, ids, cache):
        start = cache[0][0].shape[1] if cache else 0
        positions = np.arange(start, start + len(ids))
        angles = positions[:, None] * self.frequencies
        turn = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
        mask = np.where(np.arange(start + len(ids)) > positions[:, None], np.float32(-1e9), np.float32(0))
        x = self.weights["token_embd.weight"][ids]
        new = []
        for layer in range(self.layers):
            x = x + self._attention(f"blk.{layer}.", x, turn, mask, cache[layer] if cache else None, new)
            h = self._normalize(x, f"blk.{layer}.ffn_norm.weight")
            gate = h @ self.weights[f"blk.{layer}.ffn_gate.weight"].T
            up = h @ self.weights[f"blk.{layer}.ffn_up.weight"].T
            x = x + (gate / (1 + np.exp(-gate)) * up) @ self.weights[f"blk.{layer}.ffn_down.weight"].T
        logits = self._normalize(x, "output_norm.weight") @ self.weights["token_embd.weight"].T
        return logits - np.log(np.exp(logits - logits.max(-1, keepdims=True)).sum(-1, keepdims=True)), new

    def _attention(self, name, x, turn, mask, cached, new):
        h = self._normalize(x, f"{name}attn_norm.weight")
        q, k, v = (
            (h @ self.weights[f"{name}attn_{part}.weight"].T).reshape(len(x), -1, self.size).swapaxes(0, 1)
            for part in "qkv"
        )
        q, k = self._rotate(q, turn), self._rotate(k, turn)
        if cached is not None:
            k, v = np.concatenate([cached[0], k], 1), np.concatenate([cached[1], v], 1)
        new.append((k, v))
        share = self.heads // self.groups
        scores = q @ np.repeat(k, share, 0).swapaxes(1, 2) / np.sqrt(self.size) + mask
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = scores / scores.sum(-1, keepdims=True) @ np.repeat(v, share, 0)
        return mixed.swapaxes(0, 1).reshape(len(x), -1).astype(np.float32) @ self.weights[f"{name}attn_output.weight"].T

    def _normalize(self, x, name):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + self.epsilon) * self.weights[name]

    @staticmethod
    def _rotate(x, turn):
        even, odd = x[..., ::2], x[..., 1::2]
        return np.stack([even * turn[0] - odd * turn[1], even * turn[1] + odd * turn[0]], -1).reshape(x.shape)


class SmolLM2:
    """A provider: a call with forced names and keys if there are tools and no result yet, else text."""

    name = model = "smollm2"

    def __init__(self, path):
        self._path = path

    @cached_property
    def network(self):
        return Network(self._path)

    async def astream(self, request):
        user = max(place for place, message in enumerate(request.messages) if isinstance(message, User))
        answered = any(isinstance(message, ToolResult) for message in request.messages[user:])
        logits, cache = self.network.feed(self.network.encode(self._prompt(request)), None)
        if request.tools and not answered:
            yield self._call(request, logits[-1], cache)
        else:
            yield Assistant(content=self._write(logits[-1], cache, r"<\|im_end\|>", 40).strip(), provider=self.name)

    def _prompt(self, request):
        lines = [f"{tool['name']}: {tool['description']}" for tool in request.tools]
        system = "You answer with a JSON call of the best tool.\n" + "\n".join(lines)
        turns = [("system", system)]
        for message in request.messages:
            if isinstance(message, System | User):
                turns.append((message.role, message.content))
            elif isinstance(message, ToolResult):
                turns.append(("user", f"{message.name} returned: {message.content}\nAnswer my question with it."))
        text = "".join(f"<|im_start|>{role}\n{content}<|im_end|>\n" for role, content in turns)
        return f"{text}<|im_start|>assistant\n"

    def _call(self, request, logits, cache):
        logits, cache = self._force('{"name": "', logits, cache)
        tools = {tool["name"]: tool for tool in request.tools}
        name = self._choose(tools, logits, cache)
        logits, cache = self._force(f'{name}", "arguments": {{', logits, cache)
        arguments = {}
        schema = tools[name]["input_schema"]
        for key in schema.get("required", ()):
            member = schema["properties"][key]
            logits, cache = self._force(f'"{key}": ', logits, cache)
            arguments[key], logits, cache = self._value(member, logits, cache)
            logits, cache = self._force(", ", logits, cache)
        return Assistant(tool_calls=[ToolCall("call_1", name, arguments)], provider=self.name, stop_reason="tool")

    def _value(self, schema, logits, cache):
        kind = schema.get("type")
        if kind == "string" and "enum" not in schema:
            logits, cache = self._force('"', logits, cache)
            text = self._write(logits, cache, r'"|\n', 24)
            return text, *self._force(f'{text}"', logits, cache)
        if kind in ("integer", "number"):
            text = self._write(logits, cache, r"[^\d]", 6)
            value = int(re.sub(r"\D", "", text) or 1)
        else:
            choices = [json.dumps(choice) for choice in schema.get("enum", [True, False])]
            value = json.loads(self._choose(choices, logits, cache))
        return value, *self._force(json.dumps(value), logits, cache)

    def _choose(self, texts, logits, cache):
        """Return the text with the most likely tokens, on average."""

        def score(text):
            ids = self.network.encode(text)
            later, _ = self.network.feed(ids, cache)
            rows = [logits, *later[:-1]]
            return np.mean([row[id] for row, id in zip(rows, ids, strict=True)])

        return max(texts, key=score)

    def _force(self, text, logits, cache):
        rows, cache = self.network.feed(self.network.encode(text), cache)
        return rows[-1], cache

    def _write(self, logits, cache, end, limit):
        """Return the most likely text up to a pattern."""
        ids = []
        while len(ids) < limit:
            ids.append(int(logits.argmax()))
            text = self.network.decode(ids)
            if self.network.tokens[ids[-1]] == "<|im_end|>":
                return self.network.decode(ids[:-1])
            if match := re.search(end, text):
                return text[: match.start()]
            rows, cache = self.network.feed(ids[-1:], cache)
            logits = rows[-1]
        return self.network.decode(ids)
