"""A client for `pi --mode rpc` in one file: Python 3.9 or later, standard library only.

    with PiClient(args=["--model", "offline/demo"]) as pi:
        print(pi.prompt_and_wait("List the files here").text)

The agent speaks JSON lines over its stdin and stdout. A thread reads them all the time, so that the agent never
waits for a reader; the callbacks (events, dialogs, host tools) run in threads of their own or as said below.
"""

from __future__ import annotations

import itertools
import json
import os
import queue
import re
import subprocess
import threading
from dataclasses import dataclass, field
from typing import IO, Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

Json = Dict[str, Any]
ToolResult = Union[str, Json]
ToolFunction = Callable[[Json, "ToolContext"], ToolResult]
DialogHandler = Callable[[Json], Union[str, bool, None]]

DIALOGS = ("select", "confirm", "input", "editor")


class PiError(Exception):
    """The agent refused a command; the text is its sentence."""

    def __init__(self, command: str, message: str) -> None:
        super().__init__(message)
        self.command = command


class AgentGone(Exception):
    """The agent ended; whatever was waiting for it will not come."""


@dataclass
class HostTool:
    """A function that is lent to the model. What it raises becomes a tool error that the model sees."""

    name: str
    description: str
    parameters: Json
    run: ToolFunction
    label: Optional[str] = None

    def definition(self) -> Json:
        found: Json = {"name": self.name, "description": self.description, "parameters": self.parameters}
        if self.label:
            found["label"] = self.label
        return found


@dataclass
class ToolContext:
    tool_call_id: str
    #: set when the run was aborted; nobody waits for the result then
    cancelled: threading.Event
    #: shows everything so far
    update: Callable[[ToolResult], None]


@dataclass
class PromptResult:
    #: text of the last assistant message
    text: str
    #: the last assistant message, if the prompt needed a model
    message: Optional[Json]
    #: every message that entered the conversation
    messages: List[Json] = field(default_factory=list)
    #: why the last assistant message failed or was aborted
    error: Optional[str] = None


class _Waiting:
    """One command that has no answer yet."""

    def __init__(self, command: str) -> None:
        self.command = command
        self.done = threading.Event()
        self.response: Optional[Json] = None


class _InOrder:
    """Puts numbered records into order: each once, none missing. Records without a number pass."""

    def __init__(self, after: Optional[int]) -> None:
        self.last = after
        self._held: Dict[int, Json] = {}

    @property
    def is_missing(self) -> bool:
        return bool(self._held)

    def take(self, record: Json) -> List[Json]:
        """What can be handed on now that this record is here."""
        seq = record.get("seq")
        if not isinstance(seq, int):
            return [record]
        if self.last is None:
            self.last = seq - 1
        if seq > self.last:
            self._held[seq] = record
        return self._ready()

    def skip_to(self, seq: int) -> List[Json]:
        """Gives up on everything up to this number."""
        self.last = seq
        self._held = {number: record for number, record in self._held.items() if number > seq}
        return self._ready()

    def _ready(self) -> List[Json]:
        ready = []
        while self.last is not None and self.last + 1 in self._held:
            self.last += 1
            ready.append(self._held.pop(self.last))
        return ready


class Events:
    """Events from the moment it was made. Iterate; close it or leave its `with` when you have enough."""

    def __init__(self, client: "PiClient") -> None:
        self._client = client
        self._queue: "queue.SimpleQueue[Optional[Json]]" = queue.SimpleQueue()

    def __iter__(self) -> Iterator[Json]:
        while True:
            event = self._queue.get()
            if event is None:
                return
            yield event

    def __enter__(self) -> "Events":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._client._forget(self)
        self._queue.put(None)

    def _put(self, event: Optional[Json]) -> None:
        self._queue.put(event)


class PiClient:
    def __init__(
        self,
        command: Sequence[str] = ("pi",),
        args: Sequence[str] = (),
        cwd: Optional[str] = None,
        env: Optional[Mapping[str, str]] = None,
        updates: str = "delta",
        host_tools: Sequence[HostTool] = (),
        dialogs: Optional[Mapping[str, DialogHandler]] = None,
        streams: Optional[Tuple[IO[bytes], IO[bytes]]] = None,
        after: Optional[int] = None,
    ) -> None:
        """`env` replaces the environment. `dialogs` maps select, confirm, input and editor to functions; others are declined.

        `streams` (what the agent writes, what it reads) joins an agent that somebody else has started, with `--rpc-seq` if clients
        come back: `after` is then the `seq` of the last event that was handled. Events since then come first, once and in order, to
        consumers made before `start()`; `complete` is False if the agent does not have them any more.
        """
        self._argv = [*command, "--mode", "rpc", "--rpc-dialect", "pi", "--rpc-updates", updates, *args]
        self._cwd = cwd
        self._env = dict(os.environ if env is None else env)
        self._host_tools = {tool.name: tool for tool in host_tools}
        self._dialogs = dict(dialogs or {})
        # Answers to an earlier client may come again: they must not be taken for answers to this one.
        self._prefix = f"py-{os.urandom(4).hex()}"
        self._ids = itertools.count(1)
        self._lock = threading.Lock()
        self._write_lock = threading.Lock()
        self._waiting: Dict[str, _Waiting] = {}
        self._consumers: List[Events] = []
        self._running: Dict[str, threading.Event] = {}
        self._partial: Optional[Json] = None
        self._is_gone = False
        self._process: Optional["subprocess.Popen[bytes]"] = None
        self._stderr = b""
        self._streams = streams
        self._after = after
        self._in_order = _InOrder(after)
        self._handed_on = threading.Condition()
        #: id of the `resume_events` under way
        self._resuming: Optional[str] = None
        #: calls of host tools while old events come again: those that were answered must not run again
        self._held_calls: Optional[Dict[str, Json]] = None
        #: whether all events since `after` came
        self.complete = True

    # ---------------------------------------------------------------- life

    def start(self) -> "PiClient":
        if self._streams is None:
            process = self._process = subprocess.Popen(
                self._argv, cwd=self._cwd, env=self._env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
            assert process.stdout and process.stdin
            self._streams = (process.stdout, process.stdin)
            threading.Thread(target=self._drain_stderr, daemon=True).start()
        threading.Thread(target=self._read, daemon=True).start()
        if self._after is not None:
            self.complete = self.resume_events()
        if self._host_tools:
            self.use_host_tools(list(self._host_tools.values()))
        else:
            self.get_state()
        return self

    def stop(self, timeout: float = 10.0) -> Optional[int]:
        """Closes the agent's input and waits for its end; kills it if that takes too long. Answers the exit status, if we started it."""
        process = self._process
        with self._write_lock:
            try:
                if self._streams:
                    self._streams[1].close()
            except OSError:
                pass
        if process is None:
            return None
        try:
            return process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()

    def __enter__(self) -> "PiClient":
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    # ---------------------------------------------------------------- commands

    def call(self, command: str, /, **params: Any) -> Any:
        """Sends a command and answers its data. Parameters that are None are left out."""
        return self._request(f"{self._prefix}-{next(self._ids)}", command, params)

    def _request(self, request_id: str, command: str, params: Json) -> Any:
        waiting = _Waiting(command)
        with self._lock:
            if self._is_gone:
                raise self._gone()
            self._waiting[request_id] = waiting
        self._send({**{name: value for name, value in params.items() if value is not None}, "id": request_id, "type": command})
        waiting.done.wait()
        response = waiting.response
        if response is None:
            raise self._gone()
        if not response["success"]:
            raise PiError(command, response["error"])
        return response.get("data")

    def prompt(self, message: str, images: Optional[List[Json]] = None, streaming_behavior: Optional[str] = None) -> None:
        """Answers when the prompt is accepted; the run is seen in events."""
        self.call("prompt", message=message, images=images, streamingBehavior=streaming_behavior)

    def prompt_and_wait(self, message: str, images: Optional[List[Json]] = None) -> PromptResult:
        """Prompts, and answers when everything that follows from it is done."""
        messages: List[Json] = []
        with self.events() as events:
            self.prompt(message, images)
            # A slash command need not start a run, so there may be nothing to wait for.
            is_streaming = self.get_state()["isStreaming"]
            events._put({"type": "_caught_up"})
            is_caught_up = is_settled = False
            for event in events:
                if event["type"] == "message_end":
                    messages.append(event["message"])
                is_caught_up = is_caught_up or event["type"] == "_caught_up"
                if event["type"] in ("agent_start", "agent_settled"):
                    is_settled = event["type"] == "agent_settled"
                if is_caught_up and (is_settled or not is_streaming):
                    return _result_of(messages)
        raise self._gone()

    def abort(self) -> None:
        self.call("abort")

    def get_state(self) -> Json:
        return self.call("get_state")

    def get_messages(self) -> List[Json]:
        return self.call("get_messages")["messages"]

    def get_last_assistant_text(self) -> Optional[str]:
        return self.call("get_last_assistant_text")["text"]

    def set_model(self, provider: str, model_id: str) -> Json:
        return self.call("set_model", provider=provider, modelId=model_id)

    def bash(self, command: str) -> Json:
        return self.call("bash", command=command)

    def use_host_tools(self, tools: Sequence[HostTool]) -> List[str]:
        """Lends functions to the agent as tools, in place of those lent before. Each call runs in a thread of its own."""
        self._host_tools = {tool.name: tool for tool in tools}
        return self.call("set_host_tools", tools=[tool.definition() for tool in tools])["toolNames"]

    # ---------------------------------------------------------------- coming back

    @property
    def last_seq(self) -> Optional[int]:
        """`seq` of the last record that was handed on; None without `--rpc-seq`."""
        return self._in_order.last

    def resume_events(self) -> bool:
        """Asks for the records that came after `last_seq`, and answers when they were handed on. False: they are gone, look at the state anew."""
        request_id = f"{self._prefix}-{next(self._ids)}"
        with self._lock:
            self._held_calls = {}
            self._resuming = request_id
        try:
            last = self._request(request_id, "resume_events", {"after": self.last_seq or 0})["to"]
            with self._handed_on:
                self._handed_on.wait_for(lambda: self._is_gone or (self.last_seq or 0) >= last)
            return self._resuming is not None
        except PiError as error:
            if _is_gone_answer(str(error)):
                return False
            raise
        finally:
            with self._lock:
                calls, self._held_calls = self._held_calls or {}, None
                self._resuming = None
            for call in calls.values():
                threading.Thread(target=self._run_tool, args=(call,), daemon=True).start()

    # ---------------------------------------------------------------- events

    def events(self) -> Events:
        """Events from now on. In `message_update`, `message` is the message so far, in both update modes."""
        consumer = Events(self)
        with self._lock:
            self._consumers.append(consumer)
            if self._is_gone:
                consumer._put(None)
        return consumer

    def _forget(self, consumer: Events) -> None:
        with self._lock:
            if consumer in self._consumers:
                self._consumers.remove(consumer)

    # ---------------------------------------------------------------- out

    def _send(self, record: Json) -> None:
        line = json.dumps(record, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"
        if self._streams is None:
            raise RuntimeError("The client is not started: call start() first.")
        stdin = self._streams[1]
        with self._write_lock:
            try:
                # Blocks while the agent does not read.
                stdin.write(line)
                stdin.flush()
            except (OSError, ValueError):
                pass  # The agent is gone; the reading thread tells everybody.

    # ---------------------------------------------------------------- in

    def _read(self) -> None:
        assert self._streams
        try:
            # Iterating over bytes splits at LF only, as the protocol wants it.
            for line in self._streams[0]:
                try:
                    record = json.loads(line)
                except ValueError:
                    continue  # The tail of a record that an earlier client read the head of.
                if isinstance(record, dict) and isinstance(record.get("type"), str):
                    self._sort(record)
        except (OSError, ValueError):
            pass  # A broken connection is an end like any other.
        with self._lock:
            self._is_gone = True
            waiting, self._waiting = list(self._waiting.values()), {}
            consumers, running = list(self._consumers), list(self._running.values())
        for one in waiting:
            one.done.set()
        for cancelled in running:
            cancelled.set()
        for consumer in consumers:
            consumer._put(None)
        with self._handed_on:
            self._handed_on.notify_all()

    def _sort(self, record: Json) -> None:
        """Hands records on in the order of their numbers."""
        is_answer = record["type"] == "response" and record.get("id") == self._resuming and self._resuming is not None
        if is_answer and self._is_lost(record):
            self._resuming = None
            ready = self._in_order.skip_to(record["seq"])
        else:
            ready = self._in_order.take(record)
        if is_answer:
            # It is heard at once: what it brings comes after it, and what came before it waits for that.
            self._receive(record)
        for one in ready:
            if not (is_answer and one is record):
                self._receive(one)
        with self._handed_on:
            self._handed_on.notify_all()
        if self._in_order.is_missing and self._held_calls is None:
            self._held_calls = {}
            threading.Thread(target=self._fill_gap, daemon=True).start()

    def _fill_gap(self) -> None:
        try:
            self.complete = self.resume_events() and self.complete
        except (PiError, AgentGone):
            self.complete = False

    def _is_lost(self, response: Json) -> bool:
        """Whether the rest will not come: it is forgotten, or this is not the agent that we knew."""
        if response["success"]:
            return response["data"]["to"] < (self.last_seq or 0)
        return _is_gone_answer(response["error"])

    def _receive(self, record: Json) -> None:
        kind = record["type"]
        if kind == "response":
            with self._lock:
                waiting = self._waiting.pop(str(record.get("id")), None)
            if waiting:
                waiting.response = record
                waiting.done.set()
            return
        if kind == "host_tool_call" and not self._held_back(record):
            threading.Thread(target=self._run_tool, args=(record,), daemon=True).start()
        elif kind == "host_tool_cancel":
            cancelled = self._running.get(record["targetId"])
            if cancelled:
                cancelled.set()
        elif kind == "extension_ui_request" and record["method"] in DIALOGS:
            threading.Thread(target=self._answer, args=(record,), daemon=True).start()
        elif kind == "tool_execution_end":
            self._held_back(record)
        event = self._assemble(record)
        with self._lock:
            consumers = list(self._consumers)
        for consumer in consumers:
            consumer._put(event)

    def _held_back(self, record: Json) -> bool:
        """While old events come again, calls of host tools wait: those that have ended do not run again."""
        with self._lock:
            if self._held_calls is None:
                return False
            if record["type"] == "host_tool_call":
                self._held_calls[record["toolCallId"]] = record
            else:
                self._held_calls.pop(record["toolCallId"], None)
            return True

    def _assemble(self, event: Json) -> Json:
        """Puts the streamed message together from its increments."""
        kind = event["type"]
        if kind == "message_start" and event["message"]["role"] == "assistant":
            self._partial = {**event["message"], "stopReason": "pending"}
            return {**event, "message": self._partial}
        if kind == "message_end":
            self._partial = None
        if kind != "message_update" or self._partial is None:
            return event
        increment = {name: value for name, value in event["assistantMessageEvent"].items() if name != "partial"}
        content = list(self._partial["content"])
        index = increment["contentIndex"]
        block = _next_block(content[index] if index < len(content) else None, increment)
        content[index : index + 1] = [block]
        usage = event.get("usage") or event.get("message", {}).get("usage") or self._partial["usage"]
        self._partial = {**self._partial, "content": content, "usage": usage}
        return {**event, "message": self._partial, "usage": usage, "assistantMessageEvent": increment}

    def _run_tool(self, call: Json) -> None:
        call_id: str = call["id"]
        cancelled = threading.Event()
        self._running[call_id] = cancelled

        def update(result: ToolResult) -> None:
            if not cancelled.is_set():
                self._send({"type": "host_tool_update", "id": call_id, "partialResult": _tool_result(result)})

        outcome: Json
        try:
            tool = self._host_tools.get(call["toolName"])
            if tool is None:
                raise LookupError(f"The host has no function for its tool {call['toolName']}.")
            outcome = {"result": _tool_result(tool.run(call["arguments"], ToolContext(call["toolCallId"], cancelled, update)))}
        except Exception as error:  # noqa: BLE001 - whatever the function raises is the model's to see
            outcome = {"result": _tool_result(str(error)), "isError": True}
        self._running.pop(call_id, None)
        if not cancelled.is_set():
            self._send({"type": "host_tool_result", "id": call_id, **outcome})

    def _answer(self, request: Json) -> None:
        handler = self._dialogs.get(request["method"])
        value: Union[str, bool, None] = None
        try:
            value = handler(request) if handler else None
        except Exception:  # noqa: BLE001 - a handler that fails has not answered; an extension must not wait for it
            value = None
        answer: Json = {"cancelled": True} if value is None else {"confirmed": value} if request["method"] == "confirm" else {"value": value}
        self._send({"type": "extension_ui_response", "id": request["id"], **answer})

    def _drain_stderr(self) -> None:
        assert self._process and self._process.stderr
        for line in self._process.stderr:
            self._stderr = (self._stderr + line)[-4096:]

    def _gone(self) -> AgentGone:
        if self._process is None:
            return AgentGone("The connection to the agent ended.")
        status = self._process.wait()
        return AgentGone(f"The agent ended with status {status}.\n{self._stderr.decode('utf-8', 'replace')}".strip())


def _next_block(block: Optional[Json], event: Json) -> Json:
    kind, _, part = event["type"].partition("_")
    if kind == "toolcall":
        if part == "start":
            return {"type": "toolCall", "id": event["id"], "name": event["toolName"], "arguments": {}}
        return event["toolCall"] if part == "end" else block or {}
    if part == "start":
        return {"type": kind, kind: ""}
    if part == "delta":
        return {**(block or {"type": kind}), kind: (block or {}).get(kind, "") + event["delta"]}
    return {**(block or {"type": kind}), kind: event["content"]}


def _is_gone_answer(error: str) -> bool:
    return re.fullmatch(r"Events before \d+ are gone", error) is not None


def _tool_result(result: ToolResult) -> Json:
    return {"content": [{"type": "text", "text": result}]} if isinstance(result, str) else result


def _result_of(messages: List[Json]) -> PromptResult:
    message = next((one for one in reversed(messages) if one["role"] == "assistant"), None)
    if message is None:
        return PromptResult("", None, messages)
    text = "".join(block["text"] for block in message["content"] if block["type"] == "text")
    error = message.get("errorMessage") or message["stopReason"] if message["stopReason"] in ("error", "aborted") else None
    return PromptResult(text, message, messages, error)
