"""Tool names by the original's rule, case by case."""

import pytest

from tools_core import DefinitionError, Tool


@pytest.mark.parametrize(
    ("class_name", "name"),
    [
        ("Greeter", "greeter"), ("SimpleGreeter", "simple_greeter"),
        ("SearchTool", "search"), ("HTTPTool", "http"), ("HTTPServerTool", "http_server"),
        ("XMLHttpRequest", "xml_http_request"), ("GetURL", "get_url"), ("PDFToHTMLTool", "pdf_to_html"),
        ("JSONParser", "json_parser"), ("IOTool", "io"), ("OAuth2Client", "o_auth2_client"),
        ("V2Api", "v2_api"), ("S3Upload", "s3_upload"), ("Base64Encode", "base64_encode"),
        ("Read2File", "read2_file"), ("X1Y2", "x1_y2"), ("Tool", "tool"), ("ToolTool", "tool"),
        ("MyToolTool", "my_tool"), ("Retool", "retool"), ("Stool", "stool"), ("FooTOOL", "foo"), ("A", "a"),
        ("AB", "ab"), ("ABc", "a_bc"), ("Foo_Bar", "foo_bar"), ("Foo_BarTool", "foo_bar"), ("A__B", "a__b"),
        ("Café", "cafe"), ("CaféTool", "cafe"), ("Naïve", "naive"), ("Über", "uber"), ("ÉcoleTool", "ecole"),
        ("Straße", "strae"), ("Æther", "ther"), ("ﬁle", "file"), ("Ｆoo", "foo"), ("Foo日本", "foo"),
    ],
)  # fmt: skip
def test_a_tool_name_is_derived_from_the_class_name(class_name, name):
    assert type(class_name, (Tool,), {"execute": lambda self: None}).name == name


@pytest.mark.parametrize("class_name", ["日本語", "ΑΒΓ"])
def test_a_class_name_without_ascii_letters_needs_a_name(class_name):
    with pytest.raises(DefinitionError, match='set name = "my_tool"'):
        type(class_name, (Tool,), {"execute": lambda self: None})
