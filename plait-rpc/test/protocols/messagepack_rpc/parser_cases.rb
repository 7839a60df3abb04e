# frozen_string_literal: true

require_relative "transcript"

# The contract of a parser beyond the tables: what each engine must do.
module ParserCases # rubocop:disable Metrics/ModuleLength -- a contract on one page
  MessagePackRPC = Plait.const_get(:Protocols)::MessagePackRPC
  CALL = "\x94\x00\x07\xA3add\x92\x01\x02".b.freeze
  ANSWER = "\x94\x01\x07\xC0\x03".b.freeze

  def test_what_a_request_says
    parser = build.feed(CALL)
    assert_equal(:request, parser.next_event)
    assert_equal([:request, 7, "add", "\x92\x01\x02".b], [parser.kind, parser.id, parser.method_name, parser.params])
    assert_equal([nil, nil, CALL.bytesize], [parser.error, parser.result, parser.bytesize])
    assert_equal([nil, nil, nil, 0], [parser.body, parser.body_type, parser.body_size, parser.missing])
  end

  def test_what_a_response_says
    parser = build.feed(ANSWER)
    assert_equal(:response, parser.next_event)
    assert_equal([:response, 7, nil, nil, nil, "\x03".b],
                 [parser.kind, parser.id, parser.method_name, parser.params, parser.error, parser.result])
  end

  def test_what_a_notification_says
    parser = build.feed("\x93\x02\xA1m\x90")
    assert_equal(:notification, parser.next_event)
    assert_equal([:notification, nil, "m", "\x90".b], [parser.kind, parser.id, parser.method_name, parser.params])
  end

  def test_an_error_is_told_and_nil_is_none
    parser = build.feed("\x94\x01\x01\xA1e\xC0\x94\x01\x02\xC2\xC0")
    parser.next_event
    assert_equal(["\xA1e".b, "\xC0".b], [parser.error, parser.result])
    parser.next_event
    assert_equal("\xC2".b, parser.error)
  end

  def test_packed_values_are_binary_and_new_each_time
    parser = build.feed("\x94\x01\x01\xC0\xA2\xC3\xA9").tap(&:next_event)
    assert_equal(Encoding::BINARY, parser.result.encoding)
    parser.result << "more"
    assert_equal("\xA2\xC3\xA9".b, parser.result)
  end

  def test_method_names
    parser = build.feed(["\xA3add", "\xA7gr\xC3\xB6\xC3\x9Fe", "\xA1\xFF"].map { |name| "\x93\x02".b + name.b + "\x90".b }.join)
    names = Array.new(3) { parser.next_event && parser.method_name }
    assert_equal(["add", "größe", "\xFF".b], names)
    assert_equal([Encoding::UTF_8, Encoding::UTF_8, Encoding::BINARY], names.map(&:encoding))
    assert_same(-+"add", names.first)
  end

  def test_what_is_known_of_a_message_that_is_coming
    parser = build.feed(CALL[0, 2])
    assert_equal([nil, :request, nil, nil], [parser.next_event, parser.kind, parser.id, parser.method_name])
    parser.feed(CALL[2, 3])
    assert_equal([nil, :request, 7, nil], [parser.next_event, parser.kind, parser.id, parser.method_name])
    parser.feed(CALL[5, 2])
    assert_equal([nil, "add", nil, 7], [parser.next_event, parser.method_name, parser.params, parser.bytesize])
    parser.feed(CALL[7..])
    assert_equal([:request, "\x92\x01\x02".b], [parser.next_event, parser.params])
  end

  def test_nothing_is_known_between_messages
    parser = build.feed(CALL).tap(&:next_event)
    assert_nil(parser.next_event)
    assert_equal([nil, nil, nil, nil, 0], [parser.kind, parser.id, parser.method_name, parser.params, parser.bytesize])
  end

  def test_what_was_told_stays_until_the_next_event
    parser = build.feed(CALL).tap(&:next_event)
    parser.feed(ANSWER * 1000)
    assert_equal([7, "add", "\x92\x01\x02".b], [parser.id, parser.method_name, parser.params])
    assert_equal([:response, "\x03".b], [parser.next_event, parser.result])
  end

  def test_fed_strings_may_change_afterwards
    bytes = CALL.dup
    parser = build.feed(bytes)
    bytes.replace("x" * 100)
    assert_equal(:request, parser.next_event)
  end

  def test_bytes_are_a_string
    assert_raises(TypeError) { build.feed(nil) }
    assert_raises(TypeError) { build.feed(5) }
    assert_nil(build.feed("").next_event)
  end

  def test_bytes_in_any_encoding
    parser = build.feed(CALL.dup.force_encoding("UTF-16LE")).tap(&:next_event)
    assert_equal("add", parser.method_name)
  end

  # ---- ends

  def test_the_end_of_the_input
    parser = build.feed(CALL).finish
    assert_equal(%i[request closed closed], Array.new(3) { parser.next_event })
    assert_misuse(/after finish/) { parser.feed("x") }
  end

  def test_the_end_in_a_large_string
    parser = build(large: 4).feed("\x94\x01\x01\xC0\xC4\x0Aabc").finish
    assert_equal(:large, parser.next_event)
    error = assert_raises(Plait::TruncatedError) { parser.next_event }
    assert_equal([:truncated, 9], [error.rule, error.offset])
  end

  def test_idle
    parser = build
    assert_predicate(parser, :idle?)
    refute_predicate(parser.feed(CALL + ANSWER[0, 1]), :idle?)
    parser.next_event
    refute_predicate(parser, :idle?)
    parser.next_event
    refute_predicate(parser, :idle?)
    parser.feed(ANSWER[1..]).next_event
    assert_predicate(parser, :idle?)
    parser.next_event
    assert_predicate(parser, :idle?)
  end

  def test_an_error_stays_until_reset
    parser = build.feed("\x05")
    2.times { assert_equal(:not_array, assert_raises(Plait::RemoteProtocolError) { parser.next_event }.rule) }
    assert_raises(Plait::RemoteProtocolError) { parser.feed(CALL).next_event }
    assert_same(parser, parser.reset)
    assert_equal(:request, parser.feed(CALL).next_event)
  end

  def test_what_is_known_of_a_broken_message
    parser = build.feed("\x94\x00\x07\xA3add\x91\xC1")
    assert_raises(Plait::RemoteProtocolError) { parser.next_event }
    assert_equal([:request, 7, "add", nil], [parser.kind, parser.id, parser.method_name, parser.params])
  end

  def test_reset_forgets_everything
    parser = build(large: 4).feed("\x94\x01\x01\xC0\xC4\x0Aabc").tap(&:next_event).reset
    assert_predicate(parser, :idle?)
    assert_equal([nil, 0, nil], [parser.body, parser.missing, parser.next_event])
    assert_equal(%i[request closed], parser.feed(CALL).finish.then { |fed| [fed.next_event, fed.next_event] })
    assert_equal(:request, parser.reset.feed(CALL).next_event)
  end

  # ---- large strings

  def test_a_large_string_is_told_while_it_comes
    parser = build.feed("\x94\x01\x09\xC0\xC6\x00\x02\x00\x00abc")
    assert_equal(:large, parser.next_event)
    assert_equal([:response, 9, "abc".b, :bin, 131_072, 131_069],
                 [parser.kind, parser.id, parser.body, parser.body_type, parser.body_size, parser.missing])
    assert_equal([nil, 12], [parser.next_event, parser.bytesize])
    parser.feed("d" * 131_069)
    assert_equal([0, :response, nil], [parser.missing, parser.next_event, parser.body])
    assert_equal(131_081, parser.bytesize)
  end

  def test_the_string_is_handed_out_as_it_was_filled
    parser = build.feed("\x94\x01\x09\xC0\xDB\x00\x02\x00\x00")
    parser.next_event
    body = parser.body
    assert_equal([Encoding::BINARY, :str], [body.encoding, parser.body_type])
    body << ("é" * 65_536).b
    assert_equal(:response, parser.next_event)
    assert_same(body, parser.result.body)
    assert_equal([Encoding::UTF_8, "é" * 65_536], [body.encoding, body])
  end

  def test_a_shorter_string_is_not_told
    parser = build(large: 10).feed("\x94\x01\x09\xC0\xC4\x09abc")
    assert_nil(parser.next_event)
    parser = build(large: nil).feed("\x94\x01\x09\xC0\xC6\x0F\x00\x00\x00abc")
    assert_nil(parser.next_event)
  end

  def test_a_string_that_is_here_is_not_told
    parser = build(large: 5).feed("\x94\x01\x09\xC0\xC4\x05abcde")
    assert_equal([:response, "\xC4\x05abcde".b], [parser.next_event, parser.result])
  end

  def test_large_strings_in_params
    parser = build(large: 4)
    bytes = "\x94\x00\x01\xA3put\x93\xD9\x04abcd\x81\xC4\x05fghij\xC4\x06klmnop\x01".b
    events = bytes.each_char.flat_map { |byte| parser.feed(byte).then { parser.next_event } }.compact
    assert_equal(%i[large large large request], events)
    skeleton = parser.params
    assert_equal("\x93\xD6\x80\0\0\0\0\x81\xD6\x80\0\0\0\1\xD6\x80\0\0\0\2\x01".b, skeleton.bytes)
    assert_equal(%w[abcd fghij klmnop], Array.new(3) { |number| skeleton.body_of([number].pack("N")) })
    assert_equal(bytes[7..], skeleton.join)
    assert_equal([nil, false], [skeleton.body, skeleton.ambiguous?])
  end

  def test_large_strings_in_an_error_and_a_result
    parser = build(large: 4)
    "\x94\x01\x01\xC4\x05abcde\x91\xD9\x06fghijk".b.each_char { |byte| parser.feed(byte).next_event }
    assert_equal(["abcde", nil], [parser.error.body, parser.result.body])
    assert_equal(["\xC4\x05abcde".b, "\x91\xD9\x06fghijk".b], [parser.error.join, parser.result.join])
  end

  def test_a_value_without_large_strings_beside_one_with
    parser = build(large: 4)
    "\x94\x01\x01\xA1e\xC4\x05abcde".b.each_char { |byte| parser.feed(byte).next_event }
    assert_equal(["\xA1e".b, "abcde"], [parser.error, parser.result.body])
  end

  def test_extensions_of_the_marks_type_make_it_ambiguous
    parser = build(large: 4)
    "\x94\x01\x01\xC0\x92\xD6\x80\0\0\0\0\xC4\x05abcde".b.each_char { |byte| parser.feed(byte).next_event }
    assert_predicate(parser.result, :ambiguous?)
    assert_equal("\x92\xD6\x80\0\0\0\0\xC4\x05abcde".b, parser.result.join)
  end

  def test_no_more_than_what_is_missing
    parser = build(large: 4).feed("\x94\x01\x01\xC0\xC4\x05a").tap(&:next_event)
    parser.body << "bcdef"
    assert_misuse(/more was appended/) { parser.next_event }
    assert_misuse(/more was appended/) { parser.missing }
  end

  def test_bytes_fed_behind_a_large_string_belong_to_what_follows
    parser = build(large: 4).feed("\x94\x01\x01\xC0\x92\xC4\x05a").tap(&:next_event)
    parser.feed("bcde\x07#{CALL}")
    assert_equal([:response, "\x92\xC4\x05abcde\x07".b], [parser.next_event, parser.result.join])
    assert_equal(:request, parser.next_event)
  end

  # Nothing is reserved for what may never come.
  def test_memory_is_not_reserved_on_the_peers_word
    skip("there is no /proc here") unless File.exist?("/proc/self/statm")
    before = address_space
    parsers = Array.new(10) do
      build(limits: { message: 1 << 40 }).feed("\x94\x01\x01\xC0\xC6\xFF\xFF\xFF\xFF").tap(&:next_event)
    end
    assert_operator(address_space - before, :<, 10 * (80 << 20))
    assert_equal((1 << 32) - 1, parsers.last.missing)
  end

  def test_a_string_of_more_than_is_reserved
    parser = build.feed("\x94\x01\x01\xC0\xC6\x04\x80\x00\x00").tap(&:next_event)
    piece = "x" * (1 << 20)
    71.times { assert_nil(parser.feed(piece).next_event) }
    assert_equal(:response, parser.feed(piece).next_event)
    assert_equal(72 << 20, parser.result.body.bytesize)
  end

  # ---- what nobody wants

  def test_discard_a_message_with_a_large_string
    parser = build.feed("\x94\x01\x09\xC0\xC6\x00\x02\x00\x00abc").tap(&:next_event)
    assert_same(parser, parser.discard)
    assert_equal([nil, 0], [parser.body, parser.missing])
    131_069.times.each_slice(1000) { |slice| assert_nil(parser.next_event) && parser.feed("d" * slice.size) }
    parser.feed(CALL)
    assert_equal([:discarded, :response, 9], [parser.next_event, parser.kind, parser.id])
    assert_equal([nil, nil, nil], [parser.result, parser.error, parser.method_name])
    assert_equal(131_081, parser.bytesize)
    assert_equal([:request, 7, "add"], [parser.next_event, parser.id, parser.method_name])
  end

  def test_discard_at_any_byte
    bytes = "\x94\x00\x07\xA3put\x92\xD9\x04abcd\x82\x01\xC4\x05fghij\x02\x91\xC0".b
    (1...bytes.bytesize).each do |at|
      parser = build(large: 4).feed(bytes[0, at])
      parser.next_event
      rest = bytes[at..]
      assert_nil(parser.discard.next_event)
      events = rest.each_char.map { |byte| parser.feed(byte).next_event }
      assert_equal([:discarded], events.compact, at)
      assert_equal([:discarded, bytes.bytesize, nil], [events.last, parser.bytesize, parser.params])
      assert_equal(:request, parser.feed(CALL).next_event)
    end
  end

  def test_no_large_string_is_told_of_what_is_discarded
    parser = build(large: 4).feed("\x94\x01\x01\xC0").tap(&:next_event).discard
    assert_nil(parser.feed("\x92\xC4\x05abcde\xC4\x09fg").next_event)
    assert_equal(:discarded, parser.feed("hijklmn").next_event)
  end

  def test_what_is_discarded_takes_no_memory
    skip("there is no /proc here") unless File.exist?("/proc/self/statm")
    parser = build.feed("\x94\x01\x01\xC0\xDD\x00\x3F\x00\x00").tap(&:next_event).discard
    piece = ("\xDA\xFF\xFD".b + ("x" * 65_533)) * 16
    before = nil
    220.times do |number|
      assert_nil(parser.feed(piece).next_event)
      GC.start if (number % 5).zero?
      before = address_space if number == 20
    end
    assert_operator(address_space - before, :<, 100 << 20)
  end

  def test_discard_between_messages_does_nothing
    parser = build.discard.feed(CALL)
    assert_equal(:request, parser.discard.next_event)
    assert_equal("add", parser.discard.method_name)
    assert_nil(parser.next_event)
  end

  def test_what_is_discarded_must_be_well_formed_too
    parser = build.feed("\x94\x01\x09\xC0\x92").tap(&:next_event).discard
    parser.feed("\x01")
    assert_nil(parser.next_event)
    error = assert_raises(Plait::RemoteProtocolError) { parser.feed("\xC1").next_event }
    assert_equal([:never_used, 6], [error.rule, error.offset])
    error = assert_raises(Plait::TruncatedError) do
      build(large: 4).feed("\x94\x01\x01\xC0\xC4\x0Aabc").tap(&:next_event).discard.feed("d").finish.next_event
    end
    assert_equal(10, error.offset)
  end

  def test_limits_hold_for_what_is_discarded
    parser = build(limits: { message: 100 }).feed("\x94\x01\x09\xC0\xDC\x00\xFF").tap(&:next_event).discard
    error = assert_raises(Plait::LimitExceeded) { 30.times { parser.feed("abcd").next_event } }
    assert_equal([:message_limit, 100], [error.rule, error.offset])
  end

  # ---- much

  def test_many_messages_at_once
    count = 10_000
    parser = build.feed(Array.new(count) { |i| "\x94\x00\xCD".b + [i].pack("n") + "\xA1m\x91\xCD".b + [i].pack("n") }.join)
    count.times do |i|
      assert_equal([:request, i, "\x91\xCD".b + [i].pack("n")], [parser.next_event, parser.id, parser.params])
    end
    assert_nil(parser.next_event)
  end

  def test_a_message_byte_by_byte_takes_linear_time
    parser = build
    bytes = "\x94\x01\x01\xC0\xDD\x00\x00\x9C\x40".b + ("\xA2ab".b * 40_000)
    bytes.each_char { |byte| parser.feed(byte).next_event }
    assert_equal([:response, 120_005], [parser.kind, parser.result.bytesize])
  end

  def test_a_value_that_fills_many_pieces
    value = "\xDD\x00\x00\x27\x10".b + ("\xD9\x64#{"a" * 100}".b * 10_000)
    parser = build
    ("\x94\x01\x01\xC0".b + value + CALL + "\x94\x01\x02\xC0".b + value).scan(/.{1,60000}/mn) do |piece|
      event = parser.feed(piece).next_event
      next unless event == :response

      assert_equal(value, parser.result)
      assert_equal(:request, parser.next_event) if parser.id == 1
    end
    assert_equal([:response, 2, value], [parser.kind, parser.id, parser.result])
  end

  def test_a_value_that_was_handed_out_is_its_own
    value = "\xDC\x10\x00".b + ("\xB0#{"a" * 16}".b * 4096)
    parser = build.feed(CALL + "\x94\x01\x01\xC0".b + value)
    assert_equal(%i[request response], [parser.next_event, parser.next_event])
    first = parser.result
    parser.feed("\x94\x01\x02\xC0".b + value.tr("a", "b"))
    assert_equal([value, :response, value.tr("a", "b"), value], [parser.result, parser.next_event, parser.result, first])
  end

  def test_100_000_levels
    error = assert_raises(Plait::LimitExceeded) { build.feed("\x94\x01\x01\xC0".b + ("\x91".b * 100_000)).next_event }
    assert_equal([:nesting_limit, 104], [error.rule, error.offset])
  end

  # ---- wrong calls, and what is said

  def test_wrong_options
    assert_misuse(/large: must be/) { build(large: 0) }
    assert_misuse(/large: must be/) { build(large: "5") }
    assert_raises(ArgumentError) { engine.new(larger: 5) }
    assert_raises(ArgumentError) { engine.new(5) }
  end

  def test_errors_speak
    error = assert_raises(Plait::RemoteProtocolError) { build.feed("\x94\x03").next_event }
    assert_equal("the peer sent broken MessagePack-RPC: a kind of message other than 0, 1 and 2, at byte 1 " \
                 "(MessagePack-RPC, messages)", error.message)
    assert_equal([:kind, 1, "MessagePack-RPC, messages"], [error.rule, error.offset, error.section])
  end

  def test_limits_name_the_option
    error = assert_raises(Plait::LimitExceeded) { build(limits: { nesting: 1 }).feed("\x93\x02\xA1m\x91\x90").next_event }
    assert_match(/1 is the limit :nesting .*raise it with limits: {nesting: …}/, error.message)
    assert_equal([:nesting, 1, :nesting_limit], [error.limit, error.maximum, error.rule])
  end

  def test_a_message_over_the_limit_is_left_out
    bytes = packed([1, 7, nil, ["x" * 500, 1, { "a" => "b" * 90 }]]) + packed([1, 8, nil, 5])
    (1..bytes.bytesize).each do |size|
      parser = build(limits: { message: 100 }, large: 20)
      events = bytes.bytes.each_slice(size).flat_map { |slice| excusing(parser.feed(slice.pack("C*"))) }
      assert_equal([[:excused, 7], [:discarded, 7], [:response, 8]], events)
      assert_predicate(parser, :idle?)
    end
  end

  # However it is cut, and whichever limit it is over: its end is found, and what comes behind it.
  def test_requests_and_notifications_over_a_limit_are_left_out
    deep = 60.times.inject(1) { |inner, n| n.odd? ? [inner, "a" * 40, { "b" => n }] : { 1 => [], 2 => inner } }
    values = [["x" * 150, 1], [1] * 120, [deep], [{ "a" => [{}] * 30 }, deep, "x" * 900], [[]]]
    limits = [{ message: 100 }, { nesting: 0 }, { nesting: 3, message: 3_000 }, { elements: 3 }, { method_name: 3 }]
    messages = values.flat_map { |value| [[0, 7, "name", value], [1, 7, nil, value], [1, 7, value, nil], [2, "name", value]] }
    limits.product(messages).each { |limit, message| assert_left_out(limit, message) }
  end

  def test_what_is_not_left_out
    parser = build(limits: { message: 100 })
    refute(parser.excuse)
    strings = ["x" * 200, "y" * 300]
    endless = [[1, 7, nil, [1] * 200], [2, "a", strings], [1, 7, nil, strings]].map { |one| packed(one) }
    ["\xC1".b, *endless].each do |bytes|
      parser.reset.feed(bytes)
      begin
        nil while parser.next_event
        flunk
      rescue Plait::RemoteProtocolError
        parser.excuse ? retry : nil
      end
      assert_raises(Plait::RemoteProtocolError) { parser.next_event }
    end
  end

  private

  def assert_left_out(limits, message)
    bytes = packed(message) + packed([1, 8, nil, 5])
    (1..bytes.bytesize).step(7).map do |size|
      parser = build(limits: limits, large: 20)
      events = bytes.bytes.each_slice(size).flat_map { |slice| excusing(parser.feed(slice.pack("C*"))) }
      events.map { |event, id| [event == :excused, id] }
    rescue Plait::RemoteProtocolError => e
      [e.rule, e.offset]
    end.uniq.tap { |seen| assert_equal(1, seen.size, [limits, message, seen].inspect) }
  end

  # @return [Array<Array(Symbol, Integer)>] events and ids, until more bytes are needed
  def excusing(parser, events = [])
    while (event = parser.next_event)
      event == :large ? parser.discard : events << [event, parser.id]
    end
    events
  rescue Plait::LimitExceeded => e
    raise e unless parser.excuse

    excusing(parser, events << [:excused, parser.id])
  end

  def packed(message) = MessagePackRPC::Codec.new.pack(message)

  def engine = Transcript::PARSERS.fetch(self.class::ENGINE)

  def build(limits: {}, large: 64 * 1024) = engine.new(limits: MessagePackRPC.limits(limits), large: large)

  def assert_misuse(message, &block) = assert_match(message, assert_raises(Plait::LocalProtocolError, &block).message)

  # In bytes.
  def address_space = Integer(File.read("/proc/self/statm").split.first) * 4096
end
