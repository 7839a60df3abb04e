# frozen_string_literal: true

module Plait
  module HTTP
    # One call of a client, with its redirects and retries, as hooks see it.
    class Call
      # @return [String] "GET"
      attr_reader :method
      # @return [String] that was asked for, without user and password, and without the option `query:`
      attr_reader :url
      # @return [Hash{String => String}] fields that a hook adds before the request goes out
      attr_reader :headers
      # @return [Response, nil] nil before it, and after an error; of a call with a block its body is not read
      attr_reader :response
      # @return [Exception, nil] that ended the call, one of its block too
      attr_reader :error
      # @return [Float, nil] seconds of the whole call, a block included; nil before it
      attr_reader :duration

      # @param method [String]
      # @param url [URL]
      # @api private
      def initialize(method, url)
        @method = method
        @url = url.to_s
        @headers = {}
        @notes = {}
      end

      # @return [Timings] of the exchange that brought the response; each is nil where it didn't happen
      def timings = @response ? @response.timings : Timings.new

      # What a hook notes at its start for its end.
      # @param key [Object] of the hook alone
      # @return [Object, nil]
      def [](key) = @notes[key]

      # @param key [Object]
      # @param value [Object]
      def []=(key, value)
        @notes[key] = value
      end

      # @api private
      def start = @started = Deadline.now

      # @param response [Response]
      # @return [Response]
      # @api private
      def answer(response) = @response = response

      # @param error [Exception]
      # @api private
      def failed(error) = @error = error

      # @api private
      def finish = @duration = Deadline.now - @started

      # @return [String]
      def inspect = "#<#{self.class} #{@method} #{Secrets.hide(@url)}>"
    end

    # What a client does around each call. A hook encloses the hooks behind it: `before` goes from first to last, `after` and
    # `error` go back.
    class Hooks
      KEYS = %i[before after error].freeze

      # A hook that is a Hash of callables.
      class Callables
        def initialize(given)
          @given = given
        end

        KEYS.each { |key| define_method(key) { |call| @given[key]&.call(call) } }
      end

      # Writes a line for each call.
      class Log
        MILLISECONDS = { "DNS" => :dns, "connect" => :connect, "TLS" => :tls, "first byte" => :first_byte }.freeze

        def initialize(logger)
          @logger = logger
        end

        def before(_call); end

        def after(call) = @logger.info { line(call, "#{call.response.status}#{size(call.response)}") }

        def error(call)
          error = call.error
          @logger.error { line(call, error ? "failed: #{error.class}: #{error.message}" : "was broken off") }
        end

        private

        def line(call, end_of_it)
          text = "#{call.method} #{call.url} #{end_of_it}, #{milliseconds(call.duration)}#{parts(call.timings)}"
          Secrets.hide(text).gsub(/[[:cntrl:]]+/, " ")
        end

        def size(response) = (", #{response.body.bytesize} bytes" if response.body)

        def parts(timings)
          known = MILLISECONDS.filter_map { |name, key| (seconds = timings[key]) && "#{name} #{milliseconds(seconds)}" }
          " (#{known.join(", ")})" if known.any?
        end

        def milliseconds(seconds) = "#{(seconds * 1000).round(1)} ms"
      end

      class << self
        # @param given [Hash, #before, Array, nil] one hook or several
        # @return [Hooks, nil] nil: there are none
        # @raise [UsageError]
        def from(given, logger)
          hooks = (given.is_a?(Array) ? given : [given].compact).map { |hook| hook(hook) }
          hooks << Log.new(checked(logger)) if logger
          new(hooks.freeze) if hooks.any?
        end

        private

        def hook(given)
          return given if KEYS.all? { |key| given.respond_to?(key) }
          return Callables.new(callables(given)) if given.is_a?(Hash)

          raise UsageError, "hooks: takes {before: …, after: …, error: …}, an object with these methods, or an Array of such " \
                            "hooks; not #{given.class}"
        end

        def callables(given)
          wrong = UsageError.check_names(given, KEYS, "hooks:").find { |_, value| !value.nil? && !value.respond_to?(:call) }
          raise UsageError, "hooks: #{wrong.first} must be something to call, not #{wrong.last.class}" if wrong

          given
        end

        def checked(logger)
          return logger if logger.respond_to?(:info) && logger.respond_to?(:error)

          raise UsageError, "logger: takes a Logger, or an object with its methods info and error, not #{logger.class}"
        end
      end

      def initialize(hooks)
        @hooks = hooks
      end

      # @yieldparam call [Call] the block sends it, and gives it the response
      # @return [Object] the block's value
      # @raise [Exception] of the call, or of `before` or `after`
      def around(call, at = 0, &block)
        hook = @hooks[at] or return send_out(call, &block)
        hook.before(call)
        begin
          around(call, at + 1, &block)
        rescue Exception => e # rubocop:disable Lint/RescueException -- it is only shown
          call.failed(e)
          raise
        ensure
          call.error || call.response.nil? ? show_error(hook, call) : hook.after(call)
        end
      end

      private

      # An error of the hook must not take the place of the call's own, which may be a timeout or a cancellation.
      def show_error(hook, call)
        hook.error(call)
      rescue StandardError => e
        warn("plait: a hook failed for #{call.inspect}: #{e.class}: #{Secrets.hide(e.message)}")
      end

      def send_out(call)
        call.start
        yield call
      ensure
        call.finish
      end
    end
    private_constant :Hooks
  end
end
