# frozen_string_literal: true

require "plait/values/errors"
require "plait/suites/common/descriptor_limit"
require_relative "origin"
require "plait/suites/common/suite"

module Plait
  module Suites
    class Http < Suite
      # The embedded origin as what is asked. It counts the requests of each row apart, which proves how many were
      # really in flight, whatever the limit says.
      class EmbeddedTarget
        # An answer that is not the one to this request.
        class WrongAnswer < Error; end

        # Rows that take longer than this one after another are left out.
        PATIENCE_SECONDS = 60

        # What one row asks: the same bytes as the other rows, under a name of its own.
        Row = Struct.new(:target, :number) do
          # @return [URI::HTTP] of a request
          def uri(id) = target.uri(path(id))

          # @return [String] what a request names when its connection is there
          def path(id) = "/bytes/#{target.size}?id=#{id}&row=#{number}"

          # @raise [WrongAnswer] unless the response is the one to this request
          def verify(id, response) = target.verify(path(id), response)
        end

        # @return [Numeric] seconds until an answer
        attr_reader :latency
        # @return [Integer] bytes of each body
        attr_reader :size
        # @return [Array<String>] filled with what the origin has counted, once it is over
        attr_reader :notes

        # @param latency [Numeric] seconds
        # @param size [Integer] bytes of each body
        def initialize(latency:, size:)
          @latency = latency
          @size = size
          @labels = []
          @notes = []
        end

        # @return [Boolean] whether its answers are as simple as those that are asked by hand expect
        def embedded? = true

        # @return [Array<Integer>] limits worth looking at
        def limits(requests) = [10, requests.clamp(10, 100)].map { |limit| [limit, requests].min }.uniq

        # @return [Boolean] whether one request after another ends within a time that somebody will wait
        def patient?(requests) = requests * @latency <= PATIENCE_SECONDS

        # @return [String] why rows are left out
        def too_long(requests)
          format("One after another, %d requests would take %d s; those rows are left out unless --on names sequence.", requests,
                 requests * @latency)
        end

        # @return [String]
        def title(requests)
          format("HTTP: %d requests of %d bytes, answered after %g ms", requests, @size, @latency * 1000)
        end

        # Starts the origin, yields, stops it. The processes that measure inherit the limit of this one.
        def around
          DescriptorLimit.lift
          Origin.open(latency: @latency) do |origin|
            @origin = origin
            yield
          ensure
            note(origin.stats.fetch(:rows))
          end
        end

        # @param label [String] of the row
        # @return [Row]
        def row(label)
          @labels << label
          Row.new(self, @labels.size - 1)
        end

        # @return [URI::HTTP] at the origin now running
        def uri(path) = @origin.uri(path)

        # @raise [WrongAnswer]
        def verify(path, response)
          return if response.code == "200" && response.body == Origin.body(path, @size)

          raise WrongAnswer, "#{path} was answered with #{response.code} and #{response.body.to_s.bytesize} bytes, " \
                             "which are not the #{@size} bytes that belong to it"
        end

        private

        def note(rows)
          peaks = @labels.each_with_index.filter_map do |label, number|
            row = rows[number.to_s.to_sym]
            "#{label}: #{row[:peak_in_flight]}" if row
          end
          @notes.replace(peaks.empty? ? [] : ["In flight at once at most, as the origin counted: #{peaks.join("; ")}."])
        end
      end
    end
  end
end
