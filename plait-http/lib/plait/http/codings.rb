# frozen_string_literal: true

require_relative "codings/brotli"
require_relative "codings/decoder"
require_relative "codings/deflate"
require_relative "codings/gzip"
require "plait/values/errors"

module Plait
  module HTTP
    # The content codings of bodies (RFC 9110 §8.4.1): gzip, deflate, and br where the gem brotli is.
    #
    # @example
    #   decoder = Codings.decoder("gzip", max: 10 << 20)
    #   pieces.each { |piece| decoder.decode(piece) { |plain| file.write(plain) } }
    #   decoder.finish
    module Codings
      # What may stand between the peer's bytes and ours. Each layer may multiply by a thousand.
      LAYERS = 5

      module_function

      # @return [String] for Accept-Encoding: what {decoder} understands
      def accept = Brotli.available? ? "gzip, deflate, br" : "gzip, deflate"

      # @param coding [String] the value of a Content-Encoding
      # @return [Boolean] whether {decoder} understands all of it
      def known?(coding) = layers(coding).all? { |name| step(name) }

      # @param string [String] a whole body
      # @param coding [String] the value of Content-Encoding: the codings in the order in which they were applied
      # @param max [Integer, nil] bytes of the result at most; nil: no limit
      # @param endpoint [#to_s, nil] whose body it is, for messages
      # @return [String] binary
      # @raise (see Decoder#decode)
      # @raise (see Decoder#finish)
      # @raise [UnsupportedError] for a coding that is not known here
      def decode(string, coding, max:, endpoint: nil)
        decoder = decoder(coding, max: max, endpoint: endpoint)
        whole = decoder << string
        decoder.finish
        whole
      ensure
        decoder&.close
      end

      # As {decode}, for a body that comes in pieces.
      # @return [Decoder]
      def decoder(coding, max:, endpoint: nil)
        names = layers(coding)
        raise RemoteProtocolError, too_many(names, endpoint) if names.size > LAYERS

        steps = names.reverse.map { |name| (step(name) or raise UnsupportedError, unknown(name, endpoint)).new }
        Decoder.new(steps, coding, max: max, endpoint: endpoint)
      end

      # @api private
      def layers(coding) = coding.to_s.downcase.split(",").map(&:strip).reject { |name| ["", "identity"].include?(name) }

      # @api private
      def step(name)
        case name
        when "gzip", "x-gzip" then Gzip
        when "deflate" then Deflate
        when "br" then Brotli.available? ? Brotli : nil
        end
      end

      # @api private
      def unknown(name, endpoint)
        return "#{Decoder.whose(endpoint)} is coded as br: add `#{Brotli::GEM}` to the Gemfile" if name == "br"

        "#{Decoder.whose(endpoint)} is coded as #{name.inspect}, which is not known here: send an Accept-Encoding of #{accept}"
      end

      # @api private
      def too_many(names, endpoint)
        "#{Decoder.whose(endpoint)} has #{names.size} content codings, one over the other: #{LAYERS} are undone"
      end
    end
  end
end
