"""`evaluate`: ask models the questions of cases, and check their calls."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from itertools import chain
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from tools_agent import Agent, Assistant, Provider, ProviderError, Request, Session, cost_of, get_provider
from tools_core import InvalidArguments, Registry, Tool, ToolCall, ToolError, Tools, tool
from tools_core.command import CommandError, install_command, load_tools
from tools_core.files import is_inside
from tools_core.threads import run_coroutine
from tools_eval._answer import Reply
from tools_eval._cases import NO_CALL, Case
from tools_eval._expect import CaseError
from tools_eval._report import Attempt, Blame, Rate, Report
from tools_eval._words import sentences, similarity, tool_words

if TYPE_CHECKING:
    from collections.abc import Generator

    from tools_core import ApprovalRequest

Definitions = dict[str, dict[str, Any]]


class Model(NamedTuple):
    """A model to evaluate: its label in reports, its provider, and its name there."""

    label: str
    provider: Provider
    name: str = ""

    @classmethod
    def named(cls, label: str) -> Model:
        """Return the model of `"PROVIDER:NAME"`."""
        return cls(label, *get_provider(label))


def evaluate(
    cases: Case | Iterable[Case],
    models: Mapping[str, Provider | str] | Iterable[str | Model],
    *,
    tools: Tools | None = None,
    runs: int = 1,
    jobs: int = 8,
    max_cost: float | None = None,
    why: bool = False,
    on_attempt: Callable[[Attempt], object] | None = None,
) -> Report:
    """Ask each model each question `runs` times, `jobs` at once, and check the calls. Tools are not run.

    Args:
        cases: The cases, for example from `load_cases`.
        models: Names such as `"openai:gpt-5"`, or providers by the labels of reports.
        tools: The offered tools and toolsets; by default the installed ones that the `tools` of a case select.
        runs: The number of attempts for each case and model.
        jobs: The number of requests at once.
        max_cost: US dollars after which no request is sent. Needs the extra `prices` of tools-agent.
        why: Find the sentences to blame: repeat failing cases, each time without one sentence of the description of
            an expected or chosen tool.
        on_attempt: Receives each attempt.
    """
    chosen = _models(models)
    if runs < 1 or jobs < 1 or (max_cost is not None and not max_cost >= 0):
        raise ValueError(f"runs and jobs are positive, and max_cost not negative: got {runs}, {jobs} and {max_cost}")
    if max_cost is not None:
        for model in chosen:  # raises ProviderError for a model without a known price
            cost_of(Assistant(provider=getattr(model.provider, "name", None), model=model.name))
    offered = None if tools is None else dict(Registry(tools))
    notify = on_attempt or (lambda _: None)
    evaluation = _Evaluation(_cases(cases), chosen, offered, runs, asyncio.Semaphore(jobs), max_cost, notify)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(evaluation.run(why=why))
    return run_coroutine(evaluation.run(why=why))  # in a notebook


def _cases(cases: Any) -> list[Case]:
    values = [cases] if isinstance(cases, Case) else list(cases)
    for value in values:
        if not isinstance(value, Case):
            raise TypeError(f"a case is a Case, got {type(value).__name__}; write Case(question=..., expect=...)")
    return values


def _models(models: Mapping[str, Provider | str] | Iterable[str | Model]) -> list[Model]:
    if isinstance(models, Mapping):
        return [_model(str(label), model) for label, model in models.items()]
    if not isinstance(models, Iterable):
        raise TypeError(f'models are names, or providers by labels: {{"mine": {type(models).__name__}(...)}}')
    values = [models] if isinstance(models, str | Model) else models
    return [model if isinstance(model, Model) else _model(str(model), model) for model in values]


def _model(label: str, model: Provider | str) -> Model:
    if isinstance(model, str):
        return Model.named(model)._replace(label=label)
    if not hasattr(model, "astream"):
        raise TypeError(f"the model {label} is neither a name, such as openai:gpt-5, nor a provider")
    return Model(label, model)


@dataclass
class _Evaluation:
    """One run of `evaluate`."""

    cases: Sequence[Case]
    models: Sequence[Model]
    tools: dict[str, Tool] | None
    runs: int
    jobs: asyncio.Semaphore
    max_cost: float | None
    on_attempt: Callable[[Attempt], object]
    spent: float = 0.0
    offers: dict[tuple[tuple[str, ...], int], dict[str, Tool]] = field(default_factory=dict)

    async def run(self, *, why: bool) -> Report:
        """Return the report of all attempts."""
        async with AsyncExitStack() as stack:
            for model in self.models:
                if close := getattr(model.provider, "aclose", None):
                    stack.push_async_callback(close)
            pairs = [(case, model) for model in self.models for case in self.cases]
            attempts = await self._attempts([(*pair, self.definitions(pair[0])) for pair in pairs] * self.runs)
            definitions = {name: value for case in self.cases for name, value in self.definitions(case).items()}
            done = [attempt for attempt in attempts if attempt is not None]
            report = Report(attempts=done, definitions=definitions, skipped=attempts.count(None))
            return replace(report, blames=await self._find_blames(report)) if why else report

    def definitions(self, case: Case) -> Definitions:
        """Return the definitions that a case offers."""
        return {name: {**tool.definition, "name": name} for name, tool in self._offer(case).items()}

    def _offer(self, case: Case) -> dict[str, Tool]:
        if self.tools is not None:
            return self.tools
        key = (tuple(case.tools), case.distractors)
        if key not in self.offers:
            self.offers[key] = _with_distractors(_load_tools(case), case.distractors)
        tools = self.offers[key]
        for name in (*case.expected_tools, *case.results):
            if name not in tools and name != NO_CALL:
                raise CaseError(f"the case {case.name!r} names {name}, which is not among the offered tools")
        return tools

    async def _attempts(self, jobs: Sequence[tuple[Case, Model, Definitions]]) -> list[Attempt | None]:
        return list(await asyncio.gather(*(self._attempt(*job) for job in jobs)))

    async def _attempt(self, case: Case, model: Model, definitions: Definitions) -> Attempt | None:
        """Run a case once; None if the budget is used up."""
        async with self.jobs:
            if self.max_cost is not None and self.spent >= self.max_cost:
                return None
            start = monotonic()
            question = case.conversation[-1].content  # type: ignore[attr-defined]  # it ends with a user's message
            attempt = Attempt(case=case.name, model=model.label, question=question, expected=case.expected_tools[0])
            try:
                if case.workspace or case.results:
                    replies = await self._execute(case, model, definitions)
                else:
                    replies = await self._ask(case, model, definitions)
                attempt = await self._judge(attempt, case, replies, definitions, seconds=monotonic() - start)
            except ProviderError as error:
                attempt = replace(attempt, error=str(error))
            except (CaseError, CommandError):
                raise
            except (Exception, SystemExit) as error:  # noqa: BLE001  (a bug in a provider or a check does not end the others)
                attempt = replace(attempt, error=f"{type(error).__name__}: {error}")
            self.on_attempt(attempt)
            return attempt

    async def _judge(
        self, attempt: Attempt, case: Case, replies: Sequence[Assistant], definitions: Definitions, *, seconds: float
    ) -> Attempt:
        calls = [call for reply in replies for call in reply.tool_calls]
        schemas = {name: definition["input_schema"] for name, definition in definitions.items()}
        expected, chosen = case.chosen(calls)
        cost = self._cost(replies)
        self.spent += cost or 0.0
        problems, text = case.judge(calls, schemas), replies[-1].content if replies else ""
        if case.answer is not None:
            problems += await case.answer.problems(Reply(attempt.question, text, calls))
        if not calls and not any(reply.content.strip() for reply in replies):
            problems = problems or ["the model answered nothing"]
        return replace(
            attempt,
            expected=expected,
            chosen=chosen,
            calls=[{"name": call.name, "arguments": _arguments(call)} for call in calls],
            text=text,
            problems=problems,
            tokens=sum(reply.usage.total_tokens for reply in replies if reply.usage),
            cost=cost,
            seconds=round(seconds, 3),
        )

    def _cost(self, replies: Sequence[Assistant]) -> float | None:
        """Return US dollars; None without a known price, unless there is a budget."""
        try:
            return sum(map(cost_of, replies))
        except ProviderError:
            if self.max_cost is not None:
                raise
            return None

    async def _ask(self, case: Case, model: Model, definitions: Definitions) -> list[Assistant]:
        request = Request(model=model.name, messages=case.conversation, tools=list(definitions.values()))
        return [piece async for piece in model.provider.astream(request) if isinstance(piece, Assistant)]

    async def _execute(self, case: Case, model: Model, definitions: Definitions) -> list[Assistant]:
        """Run an agent, in a copy of the workspace or with the results of the case, and return its replies."""
        with _copy_of_workspace(case) if case.workspace else nullcontext() as folder:

            def approve(request: ApprovalRequest) -> Any:
                effects = request.effects
                is_in_copy = folder and effects.paths and all(is_inside(path, [folder]) for path in effects.paths)
                return "once" if case.approve == "all" or (is_in_copy and effects.commands == ()) else False

            session, tools = Session(case.conversation), self._offer(case)
            agent = Agent(
                session, model=_Named(model), workspace=folder, approve=approve, on_ask=lambda _: None,
                tools=[*tools.values()] if folder else [with_result(tool, case) for tool in definitions.values()],
            )  # fmt: skip
            await agent.agenerate()
            agent.close()
        return [message for message in session.messages if isinstance(message, Assistant)]

    async def _find_blames(self, report: Report) -> list[Blame]:
        """Repeat each failing case without single sentences."""
        cases = {case.name: case for case in self.cases if not case.workspace}
        models = {model.label: model for model in self.models}
        trials: list[tuple[Case, Model, str, str]] = []
        rates = report.rates("case", "model")
        groups = report.groups("case", "model")
        for key, rate in rates.items():
            case, model = cases.get(key[0]), models[key[1]]
            if rate.share == 1 or case is None:
                continue
            pairs = chain.from_iterable((a.expected, a.chosen) for a in groups[key] if a.problems)
            tools = [tool for tool in dict.fromkeys(pairs) if tool in report.definitions]
            trials += [
                (case, model, tool, sentence)
                for tool in tools
                for sentence in sentences(report.definitions[tool]["description"])
            ]
        variants = [(case, model, _without(self.definitions(case), *edit)) for case, model, *edit in trials]
        attempts_of = await self._attempts(variants * self.runs)
        blames = [
            Blame(case=case.name, model=model.label, tool=tool, sentence=sentence, before=before, after=after)
            for index, (case, model, tool, sentence) in enumerate(trials)
            if (after := Rate.of(filter(None, attempts_of[index :: len(trials)]))).share
            > (before := rates[case.name, model.label]).share
        ]
        return sorted(blames, key=lambda blame: -blame.after.share)


def _with_distractors(tools: dict[str, Tool], count: int) -> dict[str, Tool]:
    """Return tools, and the installed tools that are most similar to them."""
    if not count:
        return tools
    center = {stem for tool in tools.values() for stem in tool_words(tool.definition)}
    others = {name: tool for name, tool in load_tools().items() if name not in tools}
    ranked = sorted(others, key=lambda name: (-similarity(tool_words(others[name].definition), center), name))
    return tools | {name: others[name] for name in ranked[:count]}


def _load_tools(case: Case) -> dict[str, Tool]:
    try:
        return load_tools(case.tools or None)
    except CommandError as error:
        if error.type != "unknown_tool" or case.package_folder is None:
            raise
        fix = f"python -m pip install --editable {os.path.relpath(case.package_folder)}"
        raise CommandError(f"the package {case.tools[0]} is not installed", fix, type=error.type) from error


def with_result(definition: Mapping[str, Any], case: Case) -> Tool:
    """Return a tool that does not run: it returns the result of the case."""
    options = {key: definition[key] for key in ("name", "description", "input_schema") if key in definition}

    @tool(**options)
    def stub(**arguments: Any) -> Any:
        if definition["name"] not in case.results:
            raise ToolError("this case has no result for the call", "unavailable")
        result = case.results[definition["name"]]
        return result(**arguments) if callable(result) else result

    return stub


class _Named:
    """A provider that sends its requests to one model."""

    def __init__(self, model: Model) -> None:
        self.model, self.astream = model.name, model.provider.astream


@contextmanager
def _copy_of_workspace(case: Case) -> Generator[str]:
    try:
        from tools_workspace import Workspace
    except ImportError as error:
        raise CaseError(f"the case {case.name!r} runs its calls: {install_command('tools-workspace')}") from error
    with Workspace(case.workspace_folder).copy() as copy:
        yield copy.path


def _arguments(call: ToolCall) -> Any:
    """Return the arguments of a call, or their text if it is not JSON."""
    try:
        return call.arguments
    except InvalidArguments:
        return call.raw_arguments


def _without(definitions: Definitions, tool: str, sentence: str) -> Definitions:
    description = definitions[tool]["description"].replace(sentence, "", 1).strip()
    return definitions | {tool: {**definitions[tool], "description": description}}
