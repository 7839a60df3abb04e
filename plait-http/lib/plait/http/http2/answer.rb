# frozen_string_literal: true

require_relative "fields"
require "plait/values/errors"

module Plait
  module HTTP
    module HTTP2
      # One answer as its frames bring it, checked (RFC 9113 §8.1): what is malformed, larger than allowed or shorter than it
      # said is an error.
      class Answer
        # @return [Integer, nil] nil until the head has come
        attr_reader :status
        # @return [Array<Array(String, String)>]
        attr_reader :fields
        # @return [Array<Array(String, String)>]
        attr_reader :trailers
        # @return [String] binary: what has come of the body and was not taken
        attr_reader :body

        # @param bodiless [Boolean] whether it is one to HEAD
        # @param limits [Protocols::HTTP1::Limits]
        def initialize(bodiless, limits)
          @bodiless = bodiless
          @limits = limits
          @trailers = []
          @body = String.new(encoding: Encoding::BINARY)
          @received = @interim = 0
        end

        # @return [Boolean] whether it has ended
        def complete? = @complete || false

        # @param pairs [Array<Array(String, String)>]
        # @return [void]
        # @raise [RemoteProtocolError, LimitExceeded]
        def head(pairs)
          check_size(pairs)
          return @trailers = Fields.check(pairs) if @status

          status, fields = Fields.split(pairs)
          return interim(status) if status < 200

          @fields = fields
          @length = length_of(fields)
          @status = status
        end

        # @param bytes [String]
        # @return [void]
        # @raise [RemoteProtocolError, LimitExceeded]
        def data(bytes)
          raise Fields.broken("a body before its head") unless @status
          raise Fields.broken("a body where there can be none (to HEAD, or with status #{@status})") if empty? && !bytes.empty?

          @received += bytes.bytesize
          raise Fields.broken("more than Content-Length bytes") if @length && @received > @length
          raise limit(:body, "a body") if @limits.body && @received > @limits.body

          @body << bytes
        end

        # At the end of the stream.
        # @return [void]
        # @raise [TruncatedError, RemoteProtocolError]
        def finish
          raise Fields.broken("a stream that ends before its head") unless @status
          return @complete = true if @length.nil? || empty? || @received == @length

          raise TruncatedError.new("the body ended after #{@received} of #{@length} bytes",
                                   rule: :truncated_length, section: "RFC 9113 §8.1.1")
        end

        # @return [String] what has come of the body, which is the caller's from now on
        def take = @body.tap { @body = String.new(encoding: Encoding::BINARY) }

        private

        # RFC 9110 §6.4.1
        def empty? = @bodiless || [204, 304].include?(@status)

        def interim(status)
          raise Fields.broken("101, which HTTP/2 does not have") if status == 101

          @interim += 1
          raise limit(:interim, "more 1xx responses") if @interim > @limits.interim
        end

        def check_size(pairs)
          raise limit(:headers, "more fields") if pairs.size > @limits.headers
          raise limit(:head, "a head") if pairs.sum { |name, value| name.bytesize + value.bytesize + 4 } > @limits.head
        end

        def length_of(fields)
          lengths = fields.filter_map { |name, value| value if name == "content-length" }.uniq
          return if lengths.empty?
          return lengths.first.to_i if lengths.size == 1 && lengths.first.match?(/\A\d+\z/)

          raise Fields.broken("the Content-Length #{lengths.join(", ")}")
        end

        def limit(name, what)
          maximum = @limits.public_send(name)
          LimitExceeded.new("#{what} over the limit of #{maximum}: raise it with limits: {#{name}: …} if that is expected",
                            limit: name, maximum: maximum, rule: :"#{name}_limit")
        end
      end
    end
  end
end
