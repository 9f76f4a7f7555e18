"""The kinds of tools: classes, functions and toolsets."""
