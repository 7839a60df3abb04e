# frozen_string_literal: true

require_relative "packed_values"

# Tables from the specifications of MessagePack and MessagePack-RPC: each format as each part of a message, each part of each
# message, good and bad.
module Samples
  # `messages`: what is told of each, [kind, id, method, packed error, packed params or result]; `rule`, `offset`: what is broken
  # behind them, and where in its message (<!> in the bytes).
  Sample = Struct.new(:name, :bytes, :messages, :rule, :offset, :limits, keyword_init: true)

  # Builds a table.
  class Table
    attr_reader :samples

    def initialize
      @samples = []
    end

    def good(name, bytes, *messages)
      @samples << Sample.new(name: name, bytes: bytes.b, messages: messages, limits: {})
    end

    def bad(name, bytes, rule, *messages, limits: {}, offset: bytes.b.index("<!>"))
      @samples << Sample.new(name: name, bytes: bytes.b.sub("<!>", ""), messages: messages, rule: rule, limits: limits,
                             offset: offset)
    end

    # Each of the bytes between a beginning and an end.
    def each_bad(what, rule, before, after, cases)
      cases.each { |name, bytes| bad("#{what}: #{name}", before.b + "<!>" + bytes.b + after.b, rule) }
    end
  end

  def self.table(&block) = Table.new.tap { |table| table.instance_eval(&block) }.samples.freeze

  EMPTY = "\x90".b.freeze
  NOTHING = "\xC0".b.freeze

  GOOD = table do
    PackedValues::ALL.each do |name, value|
      good "result: #{name}", "\x94\x01\x05\xC0".b + value, [:response, 5, nil, nil, value]
      good "error: #{name}", "\x94\x01\x05".b + value + NOTHING, [:response, 5, nil, (value unless name == "nil"), NOTHING]
      params = "\x92\x01".b + value
      good "params: #{name}", "\x94\x00\x05\xA1m".b + params, [:request, 5, "m", nil, params]
    end
    PackedValues::ARRAYS.each do |name, packed|
      good "params are #{name}", "\x94\x00\x01\xA1m".b + packed, [:request, 1, "m", nil, packed]
    end
    PackedValues::IDS.each do |id, packed|
      good "id #{id} in #{packed.bytesize} bytes", "\x94\x00".b + packed + "\xA1m\x90".b, [:request, id, "m", nil, EMPTY]
    end
    PackedValues::METHODS.each do |method, packed|
      good "method #{packed.inspect[0, 30]}", "\x93\x02".b + packed + EMPTY, [:notification, nil, method, nil, EMPTY]
    end
    good "an envelope of array 16", "\xDC\x00\x04\x00\x01\xA1m\x90", [:request, 1, "m", nil, EMPTY]
    good "an envelope of array 32", "\xDD\x00\x00\x00\x03\x02\xA1m\x90", [:notification, nil, "m", nil, EMPTY]
    good "a kind in uint 8", "\x94\xCC\x01\x01\xC0\xC0", [:response, 1, nil, nil, NOTHING]
    good "a kind in int 64", "\x94\xD3#{"\x00" * 7}\x01\x01\xC0\xC0", [:response, 1, nil, nil, NOTHING]
    good "an error and a result", "\x94\x01\x01\xA1e\xA1r", [:response, 1, nil, "\xA1e".b, "\xA1r".b]
    good "an error as code and text", "\x94\x01\x01\x92\x01\xA4oops\xC0", [:response, 1, nil, "\x92\x01\xA4oops".b, NOTHING]
    good "messages one after another", "\x94\x00\x01\xA1a\x90\x93\x02\xA1b\x91\x05\x94\x01\x02\xC0\xA1c",
         [:request, 1, "a", nil, EMPTY], [:notification, nil, "b", nil, "\x91\x05".b], [:response, 2, nil, nil, "\xA1c".b]
    good "as deep as may be", "\x94\x01\x01\xC0#{"\x91" * 99}\x90", [:response, 1, nil, nil, "#{"\x91" * 99}\x90".b]
    good "nothing", ""
  end

  ENVELOPES = table do
    each_bad "not a message", :not_array, "", "",
             { "a number" => "\x05", "nil" => "\xC0", "a map" => "\x84\x00\x01\x02\x03", "a string" => "\xA3abc",
               "0xc1" => "\xC1", "HTTP" => "GET / HTTP/1.1\r\n\r\n", "a TLS hello" => "\x16\x03\x01\x02\x00",
               "an extension" => "\xD4\x00\x00" }
    each_bad "an envelope", :shape, "", "",
             { "empty" => "\x90", "of one" => "\x91\x00", "of two" => "\x92\x00\x01", "of five" => "\x95\x00\x01\xA1m\x90\xC0",
               "of array 16, of two" => "\xDC\x00\x02\x00\x01", "of 2^32 - 1" => "\xDD\xFF\xFF\xFF\xFF" }
    bad "a request of three", "\x93<!>\x00\x01\xA1m", :shape
    bad "a response of three", "\x93<!>\x01\x01\xC0", :shape
    bad "a notification of four", "\x94<!>\x02\xA1m\x90\xC0", :shape
    each_bad "a kind", :kind, "\x94", "\x01\xA1m\x90",
             { "3" => "\x03", "127" => "\x7F", "256" => "\xCD\x01\x00", "-1" => "\xFF", "-1 in int 8" => "\xD0\xFF",
               "nil" => "\xC0", "a string" => "\xA1m", "a float" => "\xCA\x00\x00\x00\x00", "an array" => "\x90",
               "0xc1" => "\xC1" }
    ids = { "nil" => "\xC0", "negative" => "\xFF", "negative in int 8" => "\xD0\x80", "negative in int 64" => "\xD3#{"\xFF" * 8}",
            "a string" => "\xA1a", "a float" => "\xCB#{"\x00" * 8}", "an array" => "\x90", "0xc1" => "\xC1" }
    each_bad "a request's id", :id, "\x94\x00", "\xA1m\x90", ids
    each_bad "a response's id", :id, "\x94\x01", "\xC0\xC0", ids
    methods = { "nil" => "\xC0", "a number" => "\x05", "an array" => "\x91\xA1m", "a map" => "\x80", "0xc1" => "\xC1",
                "an extension" => "\xC7\x01\x00a" }
    each_bad "a request's method", :method, "\x94\x00\x01", "\x90", methods
    each_bad "a notification's method", :method, "\x93\x02", "\x90", methods
    each_bad "params", :params, "\x94\x00\x01\xA1m", "",
             { "nil" => "\xC0", "a number" => "\x05", "a string" => "\xA1m", "a map" => "\x80", "map 16" => "\xDE\x00\x00",
               "0xc1" => "\xC1", "an extension" => "\xD4\x00\x00", "a large string" => "\xDB\x7F\xFF\xFF\xFF" }
  end

  CONTENTS = table do
    bad "0xc1 as a result", "\x94\x01\x01\xC0<!>\xC1", :never_used
    bad "0xc1 as an error", "\x94\x01\x01<!>\xC1\xC0", :never_used
    bad "0xc1 in params", "\x94\x00\x01\xA1m\x93\x01<!>\xC1\x01", :never_used
    bad "0xc1 as a key", "\x94\x00\x01\xA1m\x91\x81<!>\xC1\x01", :never_used
    bad "0xc1 behind strings", "\x94\x00\x01\xA1m\x93\xC4\x05abcde\xD9\x06abcdef<!>\xC1", :never_used
    bad "a good message first", "\x93\x02\xA1m\x90<!>\xC1", :not_array, [:notification, nil, "m", nil, EMPTY]
    bad "a message with large strings first", "\x93\x02\xA1m\x91\xC4\x05abcde\x94\x01\x01\xC0<!>\xC1", :never_used,
        [:notification, nil, "m", nil, "\x91\xC4\x05abcde".b]
  end

  LIMITED = table do
    bad "deeper than may be", "\x94\x01\x01\xC0#{"\x91" * 100}<!>\x90", :nesting_limit
    bad "much deeper than may be", "\x94\x01\x01\xC0#{"\x91" * 100}<!>#{"\x91" * 1000}", :nesting_limit
    bad "deeper than the limit", "\x94\x00\x01\xA1m\x91\x81\x01<!>\x90", :nesting_limit, limits: { nesting: 2 }
    bad "an error deeper than the limit", "\x94\x01\x01\x81\x01<!>\x91\x01\xC0", :nesting_limit, limits: { nesting: 1 }
    bad "no containers allowed", "\x94\x01\x01\xC0<!>\x80", :nesting_limit, limits: { nesting: 0 }

    bad "more elements than may be", "\x94\x01\x01\xC0<!>\xDD\x00\x40\x00\x01", :elements_limit
    bad "2^32 - 1 elements", "\x94\x01\x01\xC0<!>\xDD\xFF\xFF\xFF\xFF", :elements_limit
    bad "2^32 - 1 pairs", "\x94\x01\x01\xC0<!>\xDF\xFF\xFF\xFF\xFF", :elements_limit
    bad "2^31 pairs and all elements allowed", "\x94\x01\x01\xC0<!>\xDF\x80\x00\x00\x00", :elements_limit,
        limits: { elements: (1 << 32) - 1 }
    bad "more elements in all", "\x94\x01\x01\xC0\x92\x91\x01<!>\x92\x01\x02", :elements_limit, limits: { elements: 4 }
    bad "pairs count twice", "\x94\x01\x01\xC0<!>\x82\x01\x02\x03\x04", :elements_limit, limits: { elements: 3 }
    bad "error and result together", "\x94\x01\x01\x92\x01\x02<!>\x91\x01", :elements_limit, limits: { elements: 2 }

    bad "a longer method than may be", "\x94\x00\x01<!>\xDA\x04\x01#{"a" * 1025}\x90", :method_limit
    bad "a method of 4 GiB", "\x93\x02<!>\xDB\xFF\xFF\xFF\xFF", :method_limit
    bad "a longer method than the limit", "\x93\x02<!>\xA4name\x90", :method_limit, limits: { method_name: 3 }

    bad "a bin of 4 GiB", "\x94\x01\x01\xC0\xC6\xFF\xFF\xFF\xFF", :message_limit, offset: 256 << 20
    bad "a str of 4 GiB", "\x94\x01\x01\xC0\xDB\xFF\xFF\xFF\xFF", :message_limit, offset: 256 << 20
    bad "an ext of 4 GiB", "\x94\x01\x01\xC0\xC9\xFF\xFF\xFF\xFF\x05", :message_limit, offset: 256 << 20
    bad "a bin of 4 GiB in params", "\x94\x00\x01\xA1m\x91\xC6\xFF\xFF\xFF\xFF", :message_limit, offset: 256 << 20
    bad "over the limit in a string", "\x94\x01\x01\xC0\xC4\x05abcd<!>e", :message_limit, limits: { message: 10 }
    bad "over the limit in a number", "\x94\x01\x01\xC0\xCE\x00\x00\x00<!>\x01", :message_limit, limits: { message: 8 }
    bad "over the limit between values", "\x94\x01\x01\xC0\x92\x01<!>\x02", :message_limit, limits: { message: 6 }
    bad "at the limit, and not at the end", "\x94\x01\x01\xC0\x92\x01<!>", :message_limit, limits: { message: 6 }
    bad "over the limit in its head", "\x94\x01\xCD\x00<!>\x01\xC0\xC0", :message_limit, limits: { message: 4 }
    bad "over the limit in its method", "\x94\x00\x01\xA4na<!>me\x90", :message_limit, limits: { message: 6 }
    bad "over the limit with strings taken out", "\x94\x00\x01\xA1m\x92\xC4\x05abcde\xC4\x05fg<!>hij", :message_limit,
        limits: { message: 17 }
  end

  ENDS = table do
    bad "the end behind a byte", "\x94<!>", :truncated
    bad "the end in an envelope's header", "\xDC\x00<!>", :truncated
    bad "the end in an id", "\x94\x00\xCE\x00<!>", :truncated
    bad "the end in a method", "\x94\x00\x01\xA4me<!>", :truncated
    bad "the end before params", "\x94\x00\x01\xA1m<!>", :truncated
    bad "the end in params", "\x94\x00\x01\xA1m\x92\x01<!>", :truncated
    bad "the end in a string", "\x94\x01\x01\xC0\xC4\x05abc<!>", :truncated
    bad "the end in a second string", "\x94\x01\x01\xC0\x92\xC4\x05abcde\xC4\x06fg<!>", :truncated
    bad "the end between values", "\x94\x01\x01\xC0\x92\xC4\x05abcde<!>", :truncated
    bad "the end in a second message", "\x93\x02\xA1m\x90\x93\x02<!>", :truncated, [:notification, nil, "m", nil, EMPTY]
  end

  BAD = (ENVELOPES + CONTENTS + LIMITED + ENDS).freeze
end
