# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "stringio"
require "tmpdir"
require "plait/http"
require "plait/http/multipart"
require "plait/http/upload"

class HTTPMultipartTest < Minitest::Test
  Multipart = Plait::HTTP::Multipart
  DISPOSITION = /\Aform-data; name="(?<name>[^"]*)"(?:; filename="(?<filename>[^"]*)")?\z/n

  # What Rails and Rack hand on of an upload.
  Uploaded = Struct.new(:original_filename, :text) do
    def read(*) = text.tap { self.text = nil }
  end

  def test_text
    form = Multipart.new({ a: 1, "b" => :two, c: "größe\r\n--x", d: nil, e: true })
    assert_equal([%w[a 1], %w[b two], ["c", "größe\r\n--x"], ["d", ""], %w[e true]], columns(form, :name, :body))
    assert(parse(form).all? { |part| part[:headers].keys == ["Content-Disposition"] })
    assert_predicate(form, :replayable?)
  end

  def test_the_bytes
    form = Multipart.new([["a", "1"]])
    boundary = form.content_type[%r{\Amultipart/form-data; boundary=([\w-]{20,70})\z}, 1]
    assert_equal("--#{boundary}\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--#{boundary}--\r\n", bytes(form))
  end

  def test_nothing
    form = Multipart.new({})
    assert_equal([], parse(form))
    assert_equal("--#{boundary_of(form)}--\r\n", bytes(form))
  end

  def test_a_field_several_times
    form = Multipart.new([["a", %w[x y]], ["a", "z"], ["b", []]])
    assert_equal([%w[a x], %w[a y], %w[a z]], columns(form, :name, :body))
  end

  def test_files
    with_file("tab\tle", "sun set.csv") do |file|
      form = Multipart.new(file: file, io: StringIO.new("bytes"), up: Uploaded.new("a.png", "\x89PNG".b))
      expected = [["sun set.csv", "tab\tle"], %w[io bytes], ["a.png", "\x89PNG".b]]
      assert_equal(expected, columns(form, :filename, :body))
      assert(parse(Multipart.new(file: file)).all? { |part| part[:headers]["Content-Type"] == "application/octet-stream" })
    end
  end

  def test_a_file_in_two_parts
    Tempfile.create do |file|
      file.write("text")
      file.rewind
      bytes = Plait::HTTP.const_get(:Upload).wrap(Plait::HTTP::Multipart.new(a: file, b: file)).enum_for(:each).map(&:dup).join
      assert_equal(2, bytes.scan("text").size)
    end
  end

  def test_a_part_says_what_it_is
    part = Multipart::Part.new("a;b", filename: "t.csv", content_type: "text/csv; charset=utf-8")
    form = Multipart.new(table: part, json: Multipart::Part.new("{}", content_type: "application/json"))
    assert_equal([["t.csv", "a;b"], [nil, "{}"]], columns(form, :filename, :body))
    assert_equal(["text/csv; charset=utf-8", "application/json"], parse(form).map { |one| one[:headers]["Content-Type"] })
  end

  {
    "quotes" => ['a"b', "a%22b"], "line breaks" => ["a\r\nX-Evil: 1", "a%0D%0AX-Evil: 1"], "utf 8" => ["日本ö", "日本ö"],
    "latin 1" => ["ö".encode("ISO-8859-1"), "ö"], "backslashes" => ["a\\b", "a\\b"], "semicolons" => ["a;b", "a;b"],
    "bytes" => ["\xff\xfe".b, "\xff\xfe".b]
  }.each do |what, (name, sent)|
    define_method("test_names_with_#{what.tr(" ", "_")}") do
      parsed = parse(Multipart.new([[name, Multipart::Part.new("x", filename: name)]]))
      assert_equal([[sent.b, sent.b, "x"]], parsed.map { |part| [part[:name].b, part[:filename].b, part[:body]] })
    end
  end

  def test_a_form_within_a_form_is_data
    inner = bytes(Multipart.new(a: "1", b: StringIO.new("2")))
    forms = Array.new(100) { Multipart.new(inner: inner) }
    forms.each { |form| assert_equal([inner], parse(form).map { |part| part[:body].b }) }
    assert_equal(100, forms.map { |form| boundary_of(form) }.uniq.size)
  end

  def test_a_file_of_100_mb_is_sent_in_pieces_with_its_length
    Dir.mktmpdir("plait-test-") do |folder|
      File.open(File.join(folder, "large"), "w+b") do |file|
        file.truncate(100 << 20)
        form = Multipart.new(title: "x", file: file)
        before = peak_memory
        2.times { assert_sent_in_pieces(form) }
        assert_operator(peak_memory - before, :<, 80 << 20)
      end
    end
  end

  def test_many_small_fields_are_few_pieces
    form = Multipart.new((1..2_000).to_h { |n| ["field #{n}", "x" * (n % 50)] })
    count = 0
    form.each { count += 1 }
    assert_equal(form.size, bytes(form).bytesize)
    assert_operator(count, :<=, (form.size / 48_000) + 2)
    assert_equal(2_000, parse(form).size)
  end

  def test_large_text_and_large_enumerables_are_cut
    form = Multipart.new(a: "x" * 200_000, b: Multipart::Part.new(["y" * 70_000, "z"]))
    sizes = sizes_of(form)
    assert_operator(sizes.max, :<=, 64 * 1024)
    assert_equal(form.size, sizes.sum)
    assert_equal([200_000, 70_001], parse(form).map { |part| part[:body].bytesize })
  end

  def test_a_stream_has_no_length_and_is_sent_once
    reader, writer = IO.pipe
    writer.write("piped")
    writer.close
    form = Multipart.new(a: "1", b: reader)
    assert_equal([nil, false], [form.size, form.replayable?])
    assert_equal(%w[1 piped], parse(form).map { |part| part[:body] })
    assert_raises(Plait::UsageError) { bytes(form) }
  ensure
    [reader, writer].each(&:close)
  end

  def test_as_an_upload
    upload = Plait::HTTP.const_get(:Upload).wrap(form = Multipart.new(a: "1"))
    assert_equal([form.size, form.content_type, true], [upload.size, upload.content_type, upload.replayable?])
    assert_equal(bytes(form), bytes(upload))
  end

  def test_what_can_not_be_a_value_is_refused_with_advice
    assert_match(/can't be a Hash.*"user\[name\]"/, assert_raises(Plait::UsageError) { Multipart.new(user: { name: 1 }) }.message)
    error = assert_raises(Plait::UsageError) { Multipart::Part.new("x", content_type: "text/plain\r\nX-Evil: 1") }
    assert_match(/line break/, error.message)
    [5, "a=b"].each { |fields| assert_match(/takes a Hash/, assert_raises(Plait::UsageError) { Multipart.new(fields) }.message) }
    assert_match(/is no body/, assert_raises(Plait::UsageError) { Multipart::Part.new(5) }.message)
  end

  private

  def assert_sent_in_pieces(form)
    sizes = sizes_of(form)
    assert_equal(form.size, sizes.sum)
    assert_operator(form.size, :>, 100 << 20)
    assert_operator(sizes.max, :<=, 64 * 1024)
  end

  def sizes_of(form)
    sizes = []
    form.each { |piece| sizes << piece.bytesize } # rubocop:disable Style/MapIntoArray -- there is no map
    sizes
  end

  def columns(form, *names) = parse(form).map { |part| part.values_at(*names) }

  def bytes(form)
    whole = String.new
    form.each { |piece| whole << piece.b }
    whole
  end

  def boundary_of(form) = form.content_type[/boundary=(.*)/, 1]

  # As RFC 2046 §5.1.1 says it is read, and RFC 7578 what is in it.
  def parse(form)
    text = "\r\n".b + bytes(form)
    assert_equal(form.size, text.bytesize - 2) if form.size
    preamble, *parts, last = text.split("\r\n--#{boundary_of(form)}".b, -1)
    assert_equal(["", "--\r\n"], [preamble, last])
    parts.map { |part| parse_part(part) }
  end

  def parse_part(part)
    head, body = part.delete_prefix("\r\n".b).split("\r\n\r\n".b, 2)
    headers = head.split("\r\n").to_h { |line| line.split(": ", 2) }
    names = headers.fetch("Content-Disposition").match(DISPOSITION).named_captures.transform_values { |name| name && text(name) }
    { headers: headers, body: text(body), **names.transform_keys(&:to_sym) }
  end

  def text(bytes)
    utf8 = bytes.dup.force_encoding("UTF-8")
    utf8.valid_encoding? ? utf8 : bytes
  end

  def with_file(text, name, &block)
    Dir.mktmpdir("plait-test-") do |folder|
      File.binwrite(File.join(folder, name), text)
      File.open(File.join(folder, name), "rb", &block)
    end
  end

  # Bytes, the most there were in this process.
  def peak_memory
    return 0 unless RUBY_ENGINE == "ruby" && File.exist?("/proc/self/status")

    GC.start
    File.read("/proc/self/status")[/VmHWM:\s+(\d+)/, 1].to_i * 1024
  end
end
