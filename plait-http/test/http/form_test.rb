# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "rack"
require "stringio"
require "plait/http"
require "plait/http/request"

class HTTPFormTest < Minitest::Test
  Form = Plait::HTTP.const_get(:Form)

  {
    "fields" => [{ a: 1, "b" => :two }, "a=1&b=two"],
    "nothing" => [{}, ""],
    "pairs, and a name twice" => [[["a", 1], ["a", 2]], "a=1&a=2"],
    "of pairs an Array as the field for each element" => [[[:a, [1, nil, "x"]], [:b, []]], "a=1&a&a=x"],
    "of a Hash an Array as Rack reads it" => [{ a: [1, nil, "x"], b: [] }, "a%5B%5D=1&a%5B%5D&a%5B%5D=x"],
    "a name with its brackets" => [{ "a[]" => [1, 2] }, "a%5B%5D=1&a%5B%5D=2"],
    "a Hash in a Hash" => [{ a: { b: 1, "c" => { d: nil } }, e: {} }, "a%5Bb%5D=1&a%5Bc%5D%5Bd%5D"],
    "nil as a name alone" => [{ a: nil, b: "" }, "a&b="],
    "what would end a field" => [{ "a&b=c" => "1&2=3;4" }, "a%26b%3Dc=1%262%3D3%3B4"],
    "spaces, and what is left as it is" => [{ a: "b c+d*-._~e" }, "a=b+c%2Bd*-._%7Ee"],
    "line breaks" => [{ a: "b\r\nc\n\0" }, "a=b%0D%0Ac%0A%00"],
    "UTF-8" => [{ "größe" => "日本" }, "gr%C3%B6%C3%9Fe=%E6%97%A5%E6%9C%AC"],
    "other encodings in UTF-8" => [{ a: "ö".encode("ISO-8859-1"), b: "日".encode("UTF-16LE") }, "a=%C3%B6&b=%E6%97%A5"],
    "binary as it is" => [{ a: "\xff\x00ab".b }, "a=%FF%00ab"]
  }.each do |name, (fields, encoded)|
    define_method("test_encodes_#{name.tr(" ,", "_")}") do
      text = Form.encode(fields)
      assert_equal(encoded, text)
      assert_predicate(text, :ascii_only?)
    end
  end

  def test_nested_fields_and_files_are_refused_with_advice
    error = assert_raises(Plait::UsageError) { Form.encode([[:user, { name: "x" }]]) }
    assert_match(/field :user is a Hash.*"user\[key\]"/, error.message)
    error = assert_raises(Plait::UsageError) { Form.encode(a: StringIO.new("x")) }
    assert_match(/field :a is a file: a form with files is multipart:/, error.message)
    assert_raises(Plait::UsageError) { Form.encode(a: [["nested"]]) }
  end

  def test_rack_reads_a_nested_hash
    fields = { "a" => { "b" => "1", "c" => { "d" => "e&=[]" } }, "list" => %w[1 2],
               "users" => [{ "id" => "1", "tags" => %w[x y] }, { "id" => "2" }] }
    assert_equal(fields, Rack::Utils.parse_nested_query(Form.encode(fields)))
  end

  def test_what_are_no_fields
    ["a=b", 5, Object.new].each do |fields|
      assert_match(/takes a Hash or pairs/, assert_raises(Plait::UsageError) { Form.encode(fields) }.message)
    end
  end

  def test_what_can_not_be_put_into_utf_8_is_refused
    error = assert_raises(Plait::UsageError) { Form.encode(a: "\xff".dup.force_encoding("Shift_JIS")) }
    assert_match(/field :a can't be put into UTF-8/, error.message)
  end
end
