"""Tools that read pages, search the web, download files and call HTTP APIs."""

from tools_web._web import WebTools

__all__ = ["WebTools"]
