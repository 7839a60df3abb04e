# frozen_string_literal: true

require_relative "refusal"
require "plait/values/errors"

module Plait
  module RPC
    # How an error is told to a peer: MessagePack-RPC leaves it open, and peers expect different things.
    #
    # - `:string`: "KeyError: key not found: 5". Everybody can show it.
    # - `:pair`: [0, "KeyError: key not found: 5"], as Neovim does: 1 for what the caller did wrong (no such method, wrong
    #   arguments), 0 for all else.
    # - `:named`: the name as the error and, as the result, what there is to say, as msgpack-rpc does:
    #   ".CallError.NoMethodError", ["no method …"]. An exception of a method is named by its class.
    # - anything with `call(error)`, for an Exception or a {Refusal}: it returns [error, result].
    #
    # An exception may know better: what its `to_rpc_error` returns, [error, result], is sent as it is.
    module ErrorFormat
      # Characters of a message.
      LONGEST = 16 * 1024

      FORMATS = {
        string: ->(error) { [sentence(error), nil] },
        pair: ->(error) { [[error.is_a?(Refusal) && error.caller? ? 1 : 0, sentence(error)], nil] },
        named: ->(error) { [error.is_a?(Refusal) ? error.code : name(error), [message(error)]] }
      }.freeze

      class << self
        # @param format [Symbol, #call]
        # @return [#call]
        # @raise [UsageError]
        def fetch(format)
          return own(format) if format.respond_to?(:call)

          own(FORMATS[format] || raise(UsageError, "errors: is #{FORMATS.keys.map(&:inspect).join(", ")} or something with " \
                                                   "`call`, not #{format.inspect}"))
        end

        # @param error [Exception, Refusal]
        # @return [String] UTF-8
        def message(error)
          text = error.respond_to?(:original_message) ? error.original_message : error.message
          readable(text.to_s)[0, LONGEST]
        rescue StandardError => e
          "its message raises #{e.class}"
        end

        # @return [String]
        def name(error) = error.is_a?(Refusal) ? error.name : (error.class.name || "Exception")

        # @return [String]
        def sentence(error) = "#{name(error)}: #{message(error)}"

        private

        def own(format)
          ->(error) { error.respond_to?(:to_rpc_error) ? error.to_rpc_error : format.call(error) }
        end

        # Ruby's additions to messages (did_you_mean) take milliseconds; those of drivers and paths may be bytes of any kind.
        def readable(text)
          return text if text.encoding == Encoding::UTF_8 && text.valid_encoding?
          return text.dup.force_encoding(Encoding::UTF_8).scrub if text.encoding.ascii_compatible?

          text.encode(Encoding::UTF_8, invalid: :replace, undef: :replace)
        end
      end
    end
  end
end
