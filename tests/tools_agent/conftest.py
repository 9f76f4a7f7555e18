import asyncio

import pytest


@pytest.fixture
def arun():
    """Run a coroutine to its end, with a limit."""

    def run(coroutine, limit=20):
        async def limited():
            return await asyncio.wait_for(coroutine, limit)

        return asyncio.run(limited())

    return run
