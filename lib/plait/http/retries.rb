# frozen_string_literal: true

require_relative "../values/errors"

module Plait
  module HTTP
    # When a request is sent again, and after what pause: only where that can't do anything twice. A request is safe to
    # repeat when its method is idempotent (RFC 9110 §9.2.2) and its body can be sent again, or when nothing of it has been
    # sent.
    class Retries
      KEYS = %i[count base factor max jitter statuses retry_after].freeze
      # Those that say "later": Request Timeout, Too Many Requests, and a server behind the one we asked.
      STATUSES = [408, 429, 502, 503, 504].freeze
      # What no second attempt mends.
      HOPELESS = [CertificateError, LimitExceeded, PoolTimeout, DeadlineExceeded].freeze
      # What happens to connections and comes of them.
      ACCIDENTS = [TimeoutError, ConnectionError, RemoteProtocolError].freeze
      # RFC 9110 §5.6.7, the form that is sent; Time.utc knows the names of the months.
      DATE = /\A\w{3}, (?<day>\d\d) (?<month>\w{3}) (?<year>\d{4}) (?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d) GMT\z/
      private_constant :HOPELESS, :ACCIDENTS, :DATE

      # @param spec [nil, Integer, Hash, Retries] a count, or a Hash of {KEYS}
      # @return [Retries]
      # @raise [UsageError]
      def self.from(spec)
        case spec
        when Retries then spec
        when nil, false then new
        when Integer then new(count: spec)
        when Hash then from_hash(spec)
        else raise UsageError, "retries: takes a count or a Hash of #{KEYS.join(", ")}, not #{spec.inspect}"
        end
      end

      def self.from_hash(spec)
        unknown = spec.keys - KEYS
        return new(**spec) if unknown.empty?

        raise UsageError, "retries: doesn't know #{unknown.map(&:inspect).join(", ")}; it takes #{KEYS.join(", ")}"
      end
      private_class_method :from_hash

      # @return [Integer] attempts after the first one
      attr_reader :count
      # @return [Array<Integer>] statuses after which a request is sent again
      attr_reader :statuses

      # @param count [Integer] attempts after the first one
      # @param base [Numeric] seconds before the second attempt
      # @param factor [Numeric] by which each pause is longer than the one before
      # @param max [Numeric] seconds of the longest pause
      # @param jitter [Numeric] 0 to 1, the part of a pause that is random: who failed together shall not come back together
      # @param statuses [Array<Integer>]
      # @param retry_after [Numeric] seconds that a Retry-After field may ask for; a response that asks for more is final
      # @raise [UsageError]
      def initialize(count: 0, base: 0.1, factor: 2.0, max: 10.0, jitter: 0.5, statuses: STATUSES, retry_after: 30)
        raise UsageError, "retries: must be 0 or more, not #{count.inspect}" unless count.is_a?(Integer) && count >= 0

        @count = count
        @base, @factor, @max = check(:base, base), check(:factor, factor), check(:max, max)
        @jitter = check(:jitter, jitter, most: 1)
        raise UsageError, "retries: statuses must be an Array, not #{statuses.inspect}" unless statuses.is_a?(Array)

        @statuses = statuses
        @retry_after = check(:retry_after, retry_after)
        freeze
      end

      # @param error [Exception]
      # @param repeatable [Boolean] whether the request may be sent again though it was perhaps acted on
      # @return [Boolean] whether another attempt could help and can't hurt
      def worth?(error, repeatable)
        return false if HOPELESS.any? { |kind| error.is_a?(kind) } || ACCIDENTS.none? { |kind| error.is_a?(kind) }

        repeatable || (error.respond_to?(:retry_safe?) && error.retry_safe?)
      end

      # @param response [Response]
      # @param attempts [Integer] made so far
      # @return [Float, nil] seconds until the next one; nil: the response is final
      def pause_after(response, attempts)
        return if attempts > @count || !@statuses.include?(response.status)

        asked = wish(response["retry-after"])
        return pause(attempts) unless asked

        asked <= @retry_after ? [asked, pause(attempts)].max : nil
      end

      # @param attempts [Integer] made so far
      # @return [Float] seconds until the next one
      def pause(attempts)
        full = [@base * (@factor**(attempts - 1)), @max].min
        full - (full * @jitter * rand)
      end

      private

      # Whoever finds out when something has failed has lost what it was.
      def check(name, value, most: Float::INFINITY)
        return value if value.is_a?(Numeric) && value.real? && value >= 0 && value <= most

        raise UsageError, "retries: #{name} must be a number from 0#{" to #{most}" if most == 1}, not #{value.inspect}"
      end

      # RFC 9110 §10.2.3: seconds or a date.
      # @return [Float, nil] seconds
      def wish(field)
        return if field.nil?
        return field.bytesize > 9 ? Float::INFINITY : field.to_f if field.match?(/\A\d+\z/)

        date = DATE.match(field)
        [Time.utc(*date.values_at(:year, :month, :day, :hour, :minute, :second)) - Time.now, 0.0].max if date
      rescue ArgumentError # the 31st of February
        nil
      end
    end
  end
end
