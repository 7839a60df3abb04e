# frozen_string_literal: true

require_relative "transcript"

# The contract of a parser beyond the tables: what each engine must do.
module ParserCases # rubocop:disable Metrics/ModuleLength -- a contract on one page
  OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

  def test_bytes_behind_a_message_wait_for_the_next
    parser = responses.feed("#{OK}HTTP/1.1 404 Not Found\r\n")
    assert_equal(%i[head data done], events(parser))
    assert_equal(:done, parser.next_event)
    parser.feed("Content-Length: 0\r\n\r\n")
    assert_equal("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", parser.rest)
    parser.start(method: "HEAD")
    assert_nil(parser.head)
    assert_equal(%i[head done], events(parser))
    assert_equal(404, parser.head.status)
  end

  def test_offsets_count_from_the_message
    parser = responses.feed("#{OK}HTTP/1.1 200 OK\nrest")
    events(parser)
    parser.start
    error = assert_raises(Plait::RemoteProtocolError) { parser.next_event }
    assert_equal(15, error.offset)
  end

  def test_offsets_count_interim_heads_too
    parser = responses.feed("HTTP/1.1 100 \r\n\r\nHTTP/1.1 200 OK\n")
    assert_equal(:head, parser.next_event)
    assert_equal(17 + 15, assert_raises(Plait::RemoteProtocolError) { parser.next_event }.offset)
  end

  def test_an_error_stays
    parser = responses.feed("nonsense")
    2.times { assert_equal(:not_http, assert_raises(Plait::RemoteProtocolError) { parser.next_event }.rule) }
    parser.feed(OK)
    assert_raises(Plait::RemoteProtocolError) { parser.next_event }
    assert_raises(Plait::RemoteProtocolError) { parser.start }
  end

  def test_what_came_before_an_error_is_told_first
    parser = responses.feed("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nokXX")
    assert_equal(%i[head data], [parser.next_event, parser.next_event])
    assert_equal("ok", parser.data)
    assert_equal(:chunk_end, assert_raises(Plait::RemoteProtocolError) { parser.next_event }.rule)
    assert_nil(parser.data)
  end

  def test_no_start_in_the_middle
    parser = responses
    parser.start(method: "HEAD").start
    parser.feed("HTTP/1.1 ").next_event
    assert_misuse(/in the middle/) { parser.start }
    parser.feed("200 OK\r\nContent-Length: 2\r\n\r\no")
    events(parser)
    assert_misuse(/in the middle/) { parser.start }
    parser.feed("k").next_event
    assert_equal(:done, parser.next_event)
    assert_same(parser, parser.start)
  end

  def test_no_start_after_an_interim_head
    parser = responses.feed("HTTP/1.1 100 \r\n\r\n")
    assert_equal([:head], events(parser))
    assert_misuse(/in the middle/) { parser.start }
  end

  def test_no_start_in_a_tunnel
    parser = responses.start(method: "CONNECT").feed("HTTP/1.1 200 OK\r\n\r\nbytes")
    events(parser)
    assert_misuse(/tunnel/) { parser.start }
    assert_equal("bytes", parser.rest)
  end

  def test_no_bytes_after_the_end
    parser = responses.finish
    assert_equal(:closed, parser.next_event)
    assert_misuse(/after finish/) { parser.feed("x") }
  end

  def test_what_was_fed_before_the_end_is_read
    parser = responses.feed(OK).finish
    assert_equal(%i[head data done], events(parser))
    assert_equal(:closed, parser.start.next_event)
  end

  def test_bytes_are_a_string
    assert_raises(TypeError) { responses.feed(nil) }
    assert_raises(TypeError) { responses.feed(5) }
    assert_nil(responses.feed("").next_event)
  end

  def test_fed_strings_may_change_afterwards
    bytes = "HTTP/1.1 200 OK\r\nContent-Length: 60\r\n\r\n#{"a" * 20}"
    parser = responses.feed(bytes)
    bytes.replace("x" * bytes.bytesize)
    events(parser)
    chunk = +("b" * 40)
    parser.feed(chunk)
    chunk.clear
    assert_equal(:data, parser.next_event)
    assert_equal("b" * 40, parser.data)
  end

  def test_data_is_binary_whatever_was_fed
    body = "é".encode("UTF-16LE")
    parser = responses.feed("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n").tap { |fed| events(fed) }
    parser.feed(body).next_event
    assert_equal([Encoding::BINARY, body.b], [parser.data.encoding, parser.data])
  end

  def test_a_head_byte_by_byte_takes_linear_time
    parser = responses(limits: { head: 1 << 20, headers: 5_000 })
    head = "HTTP/1.1 200 OK\r\n#{"A: #{"b" * 30}\r\n" * 3_000}Content-Length: 0\r\n\r\n"
    head.each_char { |char| parser.feed(char).next_event }
    assert_equal(3_001, parser.head.size)
  end

  def test_white_space_inside_a_value_takes_linear_time
    space = " \t" * 32_000
    head = "HTTP/1.1 200 OK\r\nX: a#{space}b\r\nConnection: a#{space}b,\tclose \r\nContent-Length: 0\r\n\r\n"
    before = processor_time
    parser = responses(limits: { head: 1 << 20 }).feed(head)
    parser.next_event
    assert_equal(["a#{space}b", false], [parser.head["x"], parser.head.persistent?])
    assert_operator(processor_time - before, :<, RUBY_ENGINE == "ruby" ? 3 : 20)
  end

  # JRuby knows no such clock.
  def processor_time = Process.clock_gettime(RUBY_ENGINE == "ruby" ? Process::CLOCK_PROCESS_CPUTIME_ID : Process::CLOCK_MONOTONIC)

  def test_a_head_as_a_collection
    parser = responses.feed("HTTP/1.1 200 OK\r\nSet-Cookie: a\r\nX-Y:  z\r\nset-cookie: b\r\nContent-Length: 0\r\n\r\n")
    parser.next_event
    head = parser.head
    assert_equal(["a", "z", "0", nil], [head["SET-cookie"], head["x-y"], head["Content-Length"], head["x-"]])
    assert_equal([%w[a b], []], [head.values("Set-Cookie"), head.values("nothing")])
    assert_equal([4, %w[Set-Cookie X-Y set-cookie Content-Length]], [head.size, head.map(&:first)])
    assert_equal(["X-Y", "z"], head.each.find { |name, _| name == "X-Y" })
    assert_same(head, head.each { |pair| pair })
    assert_predicate(head.bytes, :frozen?)
  end

  def test_names_are_the_same_objects
    head = responses.feed("HTTP/1.1 200 OK\r\nX-A: b\r\nX-A: c\r\n\r\n").tap(&:next_event).head
    assert_same(*head.map(&:first))
  end

  def test_errors_speak
    error = assert_raises(Plait::RemoteProtocolError) { responses.feed("HTTP/1.1 200 OK\r\nA : b\r\n").next_event }
    assert_equal("the peer sent broken HTTP/1.1: white space in a field name or before its colon, at byte 18 (RFC 9112 §5.1)",
                 error.message)
    assert_equal([:space_in_name, 18, "RFC 9112 §5.1", 400], [error.rule, error.offset, error.section, error.status])
  end

  def test_limits_name_the_option
    parser = responses(limits: { start_line: 20 })
    error = assert_raises(Plait::LimitExceeded) { parser.feed("HTTP/1.1 200 #{"x" * 50}").next_event }
    assert_match(/20 is the limit :start_line .*raise it with limits: {start_line: …}/, error.message)
    assert_equal([:start_line, 20, :start_line_limit], [error.limit, error.maximum, error.rule])
  end

  def test_what_is_truncated_is_an_error_of_its_own
    parser = responses.feed(OK[0..-2]).finish
    events = [parser.next_event, parser.next_event]
    assert_equal(%i[head data], events)
    assert_equal(:truncated_length, assert_raises(Plait::TruncatedError) { parser.next_event }.rule)
  end

  private

  def responses(limits: {})
    Transcript::CLASSES.fetch(self.class::ENGINE).new(limits: Transcript::HTTP1::Limits.new(**limits))
  end

  # What comes until the message is done or more is needed.
  def events(parser)
    list = []
    while list.last != :done && (kind = parser.next_event)
      list << kind
    end
    list
  end

  def assert_misuse(message, &block) = assert_match(message, assert_raises(Plait::LocalProtocolError, &block).message)
end
