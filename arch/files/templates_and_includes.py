"""Jinja2 templates around YAML: sandboxed, bounded, with lines that lead back to the source.

The functions are those of inputs.md §5.3. A template may read any file of the folder of the first
file, and YAML files up to `CLIMB` folders above it; never a hidden file, or one in a hidden folder.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from jinja2 import TemplateError, TemplateSyntaxError, UndefinedError, pass_context
from jinja2.runtime import Context

from tilewright.arch.errors import SpecError, TilewrightError, Where
from tilewright.arch.files.compose import INCLUDE_TAG, build_document
from tilewright.arch.files.document import Document
from tilewright.arch.files.marks import SourceMap
from tilewright.arch.files.reading import read_text
from tilewright.arch.files.sandbox import (
    LimitError,
    TemplateAssertError,
    TemplateBudget,
    make_environment,
)
from tilewright.arch.names import did_you_mean

CLIMB = 3
_YAML = (".yaml", ".yml", ".jinja", ".j2")
MAX_FILES = 200
MAX_INCLUDE_DEPTH = 16
_OPEN, _CLOSE = "\ue0f0", "\ue0f1"
_MARKER = re.compile(f"{_OPEN}([0-9]+):([0-9]+){_CLOSE}")


def load_template(name: str, text: str, variables: Mapping[str, object]) -> Document:
    """Render a Jinja template and return the data of the YAML that comes out.

    `name`: of the file, whose folder is where includes start; `variables`: values by name. Places
    refer to the files as written. Raises SpecError for a template that fails or bad YAML.
    """
    session = _Session(name)
    document = session.document(_File(session, name, text, ()), dict(variables))
    return replace(document, files=tuple(dict.fromkeys(file for file, _ in session.files)))


class _Session:
    """What the templates of one load share: files read, budget, folder that includes stay in."""

    def __init__(self, name: str) -> None:
        self.files: list[tuple[str, list[str]]] = []  # name and lines of each template
        self.budget = TemplateBudget()
        self.home = Path(name).resolve().parent
        self.root = _root(self.home)
        self.depth = 0

    def may_read(self, path: Path) -> bool:
        """Return whether a template may read a file or look into a folder.

        What is outside of the first file's folder must be a folder or a YAML file: a template may
        come from somebody else, and must not carry other files of the user into a report.
        """
        if not path.is_relative_to(self.root):
            return False
        below = path.relative_to(self.root).parts
        if path.is_relative_to(self.home):
            return not any(part.startswith(".") for part in path.relative_to(self.home).parts)
        if any(part.startswith(".") for part in below):
            return False
        return path.suffix in _YAML or path.is_dir() or "*" in path.name

    def document(self, file: _File, variables: dict[str, object]) -> Document:
        rendered = file.render(variables)
        text, lines = self._unmark(rendered, file)
        return build_document(text, lines, file.included)

    def add(self, name: str, text: str, asked_at: Where | None) -> int:
        if len(self.files) >= MAX_FILES:
            raise SpecError(f"the template includes more than {MAX_FILES} files", where=asked_at)
        if _OPEN in text or _CLOSE in text:
            line = text.count("\n", 0, min(i for i in map(text.find, (_OPEN, _CLOSE)) if i >= 0))
            raise SpecError(
                "the file holds the characters U+E0F0 or U+E0F1, which mark lines here",
                where=Where(name, line + 1),
                instead="remove them",
            )
        self.files.append((name, text.split("\n")))
        return len(self.files) - 1

    def _unmark(self, rendered: str, file: _File) -> tuple[str, SourceMap]:
        """Remove the line markers from rendered text.

        Return the source line of each rendered line too.
        """
        number, line = file.number, 0
        text, origins = [], []
        for raw in rendered.split("\n"):
            markers = _MARKER.findall(raw)
            if markers:
                number, line = int(markers[0][0]), int(markers[0][1])
            clean = _MARKER.sub("", raw) if markers else raw
            name, source = self.files[number]
            unchanged = line < len(source) and source[line] == clean
            origins.append((name, line + 1, unchanged))
            text.append(clean)
            if markers:  # text after an include_text() on the same line belongs to the last marker
                number, line = int(markers[-1][0]), int(markers[-1][1])
        return "\n".join(text), SourceMap(file.name, tuple(origins))


class _File:
    """One template file with its include folders and the documents that its include()s read."""

    def __init__(self, session: _Session, name: str, text: str, folders: tuple[Path, ...]) -> None:
        self.session = session
        self.name = name
        self.text = text
        self.path = Path(name).resolve()
        self.folders = list(folders)
        self.included: dict[int, Document] = {}
        self.number = session.add(name, text, None)

    def render(self, variables: dict[str, object]) -> str:
        """Return the rendered text with its line markers still in it.

        SpecError if files include each other too deep, or the template fails.
        """
        session = self.session
        if session.depth >= MAX_INCLUDE_DEPTH:
            raise SpecError(
                f"files include each other more than {MAX_INCLUDE_DEPTH} levels deep",
                where=Where(self.name),
                instead="check that no file includes itself",
            )
        session.depth += 1
        try:
            return self._render(variables)
        except TilewrightError as error:
            if error.where is None or error.where.line is None:  # an include: say which
                error.where = Where(self.name, _line_of(error) or 1)
            raise
        except Exception as error:  # whatever a template expression can raise is the user's
            raise self._explain(error, variables) from None
        finally:
            session.depth -= 1

    def _render(self, variables: dict[str, object]) -> str:
        environment = make_environment(self.session.budget, self._mark_data)
        environment.globals.update(self._functions())
        template = environment.from_string(self.text)
        pieces, size = [f"{_OPEN}{self.number}:0{_CLOSE}"], 0
        for piece in template.generate(**variables):
            size += len(piece)
            self.session.budget.check_size(size, "the rendered text")
            pieces.append(piece)
        return "".join(pieces)

    def _mark_data(self, line: int, data: str) -> str:
        """Put a marker behind each line break of a piece of literal text."""
        pieces = data.split("\n")
        marked = [pieces[0]]
        for offset, piece in enumerate(pieces[1:]):
            marked.append(f"\n{_OPEN}{self.number}:{line + offset}{_CLOSE}{piece}")
        return "".join(marked)

    # ---- functions that a template may call

    def _functions(self) -> dict[str, Callable[..., object]]:
        return {
            "include": self._include,
            "include_all": self._include_all,
            "include_text": self._include_text,
            "add_to_path": self._add_to_path,
            "find_path": lambda path: str(self._find(path)),
            "find_paths": lambda path: [str(path_found) for path_found in self._find_all(path)],
            "path_exists": self._exists,
            "cwd": lambda: str(self.path.parent),
        }

    @pass_context
    def _include(
        self, context: Context, path: str, keys: str = "", inherit: bool = True, **given: object
    ) -> str:
        file = _File(self.session, *self._open(self._find(path)), tuple(self.folders))
        return self._register(file, _visible(context, inherit, given), keys)

    @pass_context
    def _include_all(
        self, context: Context, path: str, keys: str = "", inherit: bool = True, **given: object
    ) -> str:
        tags = []
        for path_below in self._find_all(path):
            file = _File(self.session, *self._open(path_below), tuple(self.folders))
            tags.append(self._register(file, _visible(context, inherit, given), keys))
        return f"[{', '.join(tags)}]"

    def _register(self, file: _File, variables: dict[str, object], keys: str) -> str:
        """Read an included file; return the YAML that stands for it, or for the value at `keys`."""
        number = len(self.included)
        self.included[number] = self.session.document(file, variables)
        text = f"{INCLUDE_TAG} {number}"
        return f"{text}.{keys.lstrip('.')}" if keys else text

    @pass_context
    def _include_text(
        self, context: Context, path: str, inherit: bool = True, **given: object
    ) -> str:
        texts = []
        for path_below in self._find_all(path):
            file = _File(self.session, *self._open(path_below), tuple(self.folders))
            file.included = self.included  # its include()s are numbered in the same document
            texts.append(file.render(_visible(context, inherit, given)))
        return "\n".join(texts)

    def _add_to_path(self, path: str) -> str:
        self.folders.extend(self._find_all(path))
        return ""

    def _exists(self, path: str) -> bool:
        return any(candidate.exists() for candidate in self._candidates(path))

    def _open(self, path: Path) -> tuple[str, str]:
        return str(path), read_text(path)

    def _find(self, path: str) -> Path:
        return self._find_all(path)[0]

    def _find_all(self, path: str | list[str]) -> list[Path]:
        names = path if isinstance(path, list) else [path]
        paths: list[Path] = []
        for name in names:
            matches = list(self._matches(name))
            if not matches:
                raise _NotFoundError(name, [self.path.parent, *self.folders])
            paths += matches
        return list(dict.fromkeys(paths))

    def _matches(self, name: str) -> Iterator[Path]:
        for candidate in self._candidates(name):
            if any(sign in candidate.name for sign in "*?["):
                for match in sorted(candidate.parent.glob(candidate.name)):
                    yield self._confined(match, name)
            elif candidate.exists():
                yield candidate  # the nearest folder wins
                return

    def _candidates(self, name: str) -> list[Path]:
        if not isinstance(name, str) or "\0" in name:
            raise TypeError("a path must be text")
        return [self._confined(folder / name, name) for folder in (self.path.parent, *self.folders)]

    def _confined(self, path: Path, name: str) -> Path:
        resolved = path.resolve()
        if not self.session.may_read(resolved):
            raise _OutsideError(name, self.session.home)
        return resolved

    # ---- what went wrong

    def _explain(self, error: Exception, variables: Mapping[str, object]) -> SpecError:
        where = Where(self.name, _line_of(error) or 1)
        if isinstance(error, _NotFoundError | _OutsideError):
            return SpecError(error.what, where=where, value=error.name, instead=error.instead)
        if isinstance(error, TemplateAssertError | LimitError):
            return SpecError(str(error), where=where)
        if isinstance(error, UndefinedError):
            return self._undefined(error, where, variables)
        if isinstance(error, RecursionError):
            return SpecError("the template calls itself without end", where=where)
        if "no loader for this environment" in str(error):
            return SpecError(
                "templates have no statement include, import or extends",
                where=where,
                instead='write {{ include("file.yaml") }} where its value belongs, or'
                ' {{ include_text("file.yaml") }} for its text',
            )
        message = str(error).splitlines()[0] if str(error) else type(error).__name__
        kind = "" if isinstance(error, TemplateError) else f"{type(error).__name__}: "
        return SpecError(f"the template fails: {kind}{message}", where=where)

    def _undefined(
        self, error: UndefinedError, where: Where, variables: Mapping[str, object]
    ) -> SpecError:
        match = re.match(r"'(\w+)' is undefined", str(error))
        if match is None:
            return SpecError(f"the template fails: {error}", where=where)
        name = match[1]
        close = did_you_mean(name, variables) if len(variables) else ""
        return SpecError(
            f"the template variable {name} has no value",
            where=where,
            instead=f"set it: --set {name}=VALUE" + (f" ({close})" if "mean" in close else ""),
        )


class _NotFoundError(Exception):
    def __init__(self, name: str, folders: list[Path]) -> None:
        super().__init__(name)
        self.name = name
        self.what = "no such file to include"
        self.instead = "it was looked for in " + ", ".join(map(str, dict.fromkeys(folders)))


class _OutsideError(Exception):
    def __init__(self, name: str, root: Path) -> None:
        super().__init__(name)
        self.name = name
        self.what = "this path leads out of the folder that templates may read"
        self.instead = (
            f"keep included files below {root}, or as .yaml in a folder at most {CLIMB} above it;"
            " hidden files are never read"
        )


def _visible(
    context: Context, inherit: bool, passed_variables: Mapping[str, object]
) -> dict[str, object]:
    """Return the variables of an included file: its includer's, if `inherit`, and those passed."""
    visible: dict[str, Any] = dict(context.get_all()) if inherit else {}
    passed = {
        name: value
        for name, value in visible.items()
        if not callable(value) and not name.startswith("_") and name not in _GLOBALS
    }
    return {**passed, **passed_variables}


_GLOBALS = frozenset({"dict", "range", "lipsum", "cycler", "joiner", "namespace"})


def _root(folder: Path) -> Path:
    """Return the highest folder that files of `folder` may include from.

    Up to `CLIMB` levels up, but never the root of the file system or a folder right below it.
    """
    ancestors = [folder, *folder.parents]
    allowed = [path for path in ancestors[: CLIMB + 1] if len(path.parts) > 2]
    return allowed[-1] if allowed else folder


def _line_of(error: BaseException) -> int | None:
    if isinstance(error, TemplateSyntaxError):
        return error.lineno
    line, trace = None, error.__traceback__
    while trace is not None:
        line = _template_line(trace) or line
        trace = trace.tb_next
    return line


def _template_line(trace: TracebackType) -> int | None:
    """Return the line of the user's template that a frame of a traceback runs; None if it is none.

    jinja2 rewrites those frames.
    """
    name = trace.tb_frame.f_code.co_filename
    return trace.tb_lineno if name == "<template>" else None
