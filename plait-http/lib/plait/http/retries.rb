# frozen_string_literal: true

module Plait
  module HTTP
    # When a request is sent again, and after what pause: only where that can't do anything twice. A request is safe to repeat
    # when its method is idempotent (RFC 9110 §9.2.2) and its body can be sent again, or when nothing of it has been sent.
    class Retries < Backoff
      KEYS = [*Backoff::KEYS, :statuses, :retry_after, :methods].freeze
      # Statuses that ask for a later attempt: Request Timeout, Too Many Requests, and failures of a server behind a proxy.
      STATUSES = [408, 429, 502, 503, 504].freeze
      # Errors that no second attempt prevents.
      HOPELESS = [CertificateError, LimitExceeded, PoolTimeout, DeadlineExceeded].freeze
      # Errors of a connection.
      ACCIDENTS = [TimeoutError, ConnectionError, RemoteProtocolError].freeze
      # RFC 9110 §5.6.7, the form that is sent; Time.utc knows the names of the months.
      DATE = /\A\w{3}, (?<day>\d\d) (?<month>\w{3}) (?<year>\d{4}) (?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d) GMT\z/
      private_constant :HOPELESS, :ACCIDENTS, :DATE

      # @return [Array<Integer>] statuses after which a request is sent again
      attr_reader :statuses

      # @param statuses [Array<Integer>]
      # @param retry_after [Numeric] seconds that a Retry-After field may ask for; a response that asks for more is final
      # @param methods [Array<Symbol, String>] whose requests may be sent twice too, such as :post: for servers that know a
      #   request again, by a key in it
      # @param pauses [Hash] see {Backoff#initialize}
      # @raise [UsageError]
      def initialize(statuses: STATUSES, retry_after: 30, methods: [], **pauses)
        { statuses: statuses, methods: methods }.each do |name, list|
          raise UsageError, "retries: #{name} must be an Array, not #{list.inspect}" unless list.is_a?(Array)
        end

        super(**pauses)
        @methods = methods.map { |method| method.to_s.upcase }.freeze
        @statuses = statuses
        @retry_after = check(:retry_after, retry_after)
        freeze
      end

      # @param method [String] "POST"
      # @return [Boolean] whether its requests may be sent twice, though they are not idempotent
      def repeat?(method) = @methods.include?(method)

      # @param repeatable [Boolean] whether the request may be sent again though it was perhaps acted on
      # @return [Boolean] whether another attempt could help and can't hurt
      def worth?(error, repeatable)
        return false if HOPELESS.any? { |kind| error.is_a?(kind) } || ACCIDENTS.none? { |kind| error.is_a?(kind) }

        repeatable || (error.respond_to?(:retry_safe?) && error.retry_safe?)
      end

      # @param attempts [Integer] made so far
      # @return [Float, nil] seconds until the next one; nil: the response is final
      def pause_after(response, attempts)
        return if attempts > @count || !@statuses.include?(response.status)

        asked = wish(response["retry-after"])
        return pause(attempts) unless asked

        asked <= @retry_after ? [asked, pause(attempts)].max : nil
      end

      private

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
