# frozen_string_literal: true

require_relative "exchange/message"
require_relative "exchange/streamed_body"

module Plait
  module HTTP
    # A hook for test libraries: a callable that gets each request before it goes out, and may answer in the server's place.
    # A process has one for all its clients, or none.
    module Interception
      class << self
        # @return [#call, nil] called with a {Request}, the {Headers} that go out with it, and a block that sends it and
        #   returns the {Response}; returns the {Response} to use
        attr_accessor :current
      end
    end

    # One call: a request, and all attempts, connections and redirects until there is a response for the caller.
    class Exchange
      # How often a message was sent, and whether it may be sent again.
      class Attempts
        # Times a message that the peer refused unprocessed goes to another connection at once, uncounted as a retry. An HTTP/2
        # server may refuse waiting requests at any time; raising it tries more connections before the call fails.
        TURNED_AWAY = 100

        # @param deadline [Float, nil] monotonic seconds
        def initialize(retries, deadline)
          @retries = retries
          @deadline = deadline
          start_again
        end

        # Another message, or another attempt: nothing of it has been sent.
        def begin
          @count += 1
          @stale = @sending = false
        end

        # With another message, that of a redirect.
        def start_again
          @count = @revived = 0
          @renew = false
        end

        # From now on a body may be used up.
        def sending = @sending = true

        # The kept connection is closed without an answer: perhaps the peer closed it before it saw the message.
        def stale = @stale = true

        # @return [Boolean] whether the message needs a new connection
        def renew? = @renew

        # Waits until the next attempt.
        # @param error [Error] that ended the last one
        # @return [Boolean] false: there is none
        def again?(error, message)
          return false if @sending && !message.replayable?

          revive?(error, message) || retry?(error, message)
        end

        # @return [Float, nil] seconds until the next attempt; nil: there is none
        def pause_after(response, message)
          pause = @retries.pause_after(response, @count) if message.repeatable?
          pause unless pause.nil? || late?(pause)
        end

        def to_s = @count > 1 ? ", tried #{@count} times" : ""

        private

        # A stale connection is no failure of the server: a new one is made at once, uncounted, for the next kept one may be
        # stale, too. Only once, where the peer may have seen the message.
        def revive?(error, message)
          return false unless @stale && (error.retry_safe? ? @revived < TURNED_AWAY : @revived.zero? && message.repeatable?)

          @count -= 1
          @revived += 1
          @renew = true
        end

        def retry?(error, message)
          return false unless @count <= @retries.count && @retries.worth?(error, message.repeatable?)

          pause = @retries.pause(@count)
          return false if late?(pause)

          sleep(pause)
          true
        end

        def late?(pause) = @deadline && Deadline.now + pause >= @deadline
      end

      # @param deadline [Float, nil] monotonic seconds, for all of it
      # @param history [Array<Response>, nil] the redirects so far
      def initialize(client, request, timeouts: client.timeouts, deadline: nil, redirects: client.settings.redirects,
                     retries: client.settings.retries, history: nil)
        @client = client
        @timeouts = Timeouts.from(request.timeout, timeouts)
        @deadline = @timeouts.ends(deadline)
        @redirects = redirects
        @attempts = Attempts.new(retries, @deadline)
        @message = Message.new(client, request, retries)
        @history = history || []
      end

      def call = conclude(attempt)

      # @yieldparam response [Response] whose body is not read yet
      # @return [Object] what the block returns
      def stream(&consumer)
        value, again = attempt(&consumer)
        while again
          sleep(again)
          value, again = attempt(&consumer)
        end
        value
      end

      # Goes on after a first attempt of the short way.
      def finish(response)
        @attempts.begin
        conclude(identify(response))
      end

      # Goes on after a first attempt of the short way that has failed.
      # @param stale [Boolean] see {Connections#stale?}
      def recover(error, stale:)
        @attempts.begin
        @attempts.stale if stale
        @attempts.again?(error, @message) ? call : raise(explained(error))
      end

      private

      def conclude(response)
        while (pause = judge(response) || decode(response))
          sleep(pause)
          break if pause.positive? && over? && decode(response).nil? # a pause may last longer than it was asked to

          response = attempt
        end
        settle(response)
      end

      def over? = !@deadline.nil? && Deadline.now >= @deadline

      # @return [Numeric, nil] seconds until the next attempt, where the body is broken; nil: the response is for the caller
      def decode(response)
        decoding(response)&.apply(response)
        nil
      rescue RemoteProtocolError => e
        @attempts.again?(e, @message) ? 0 : raise(explained(e))
      end

      # Sends the message until there is a response to it, or no use in trying.
      # @return [Response]; with a block: the block's value, or nil and the seconds until the next attempt
      def attempt(&consumer)
        @attempts.begin
        interceptor = Interception.current
        interceptor ? intercepted(interceptor, &consumer) : exchange(&consumer)
      rescue Error => e
        raise if @handed_over
        raise explained(e) unless @attempts.again?(e, @message)

        retry
      end

      def exchange(&consumer)
        head = @message.head
        on_wire do |wire|
          @attempts.sending
          consumer ? streamed(wire, head, consumer) : identify(whole(wire, head))
        end
      end

      def intercepted(interceptor)
        response = identify(interceptor.call(@message.request, @message.fields) { exchange })
        return response unless block_given?

        again = judge(response)
        return [nil, again] if again

        decoding(response)&.apply(response)
        @handed_over = true
        [yield(settle(response)), nil]
      end

      def on_wire
        @client.connections.with(@message.route, @timeouts, @deadline, renew: @attempts.renew?) do |wire, used|
          yield wire
        rescue ConnectionClosed
          @attempts.stale if @client.connections.stale?(wire, used: used)
          raise
        end
      end

      def whole(wire, head)
        kind = @message.kind
        return wire.call(head, @message.body, kind, @timeouts, @deadline) unless @message.expecting?

        wire.expect_continue(head, kind, @timeouts, @deadline) || wire.resume(@message.body)
      end

      def streamed(wire, head, consumer)
        response = identify(wire.open(head, @message.body, @message.kind, @timeouts, @deadline))
        source = StreamedBody.new(wire, response, decoding(response)) { |error| explained(error) }
        again = judge(response)
        value = hand_over(response, source, consumer) unless again
        finished = true
        [value, again]
      ensure
        finished ? source.drop : source&.close
      end

      def hand_over(response, source, consumer)
        @handed_over = true
        response.source = source
        consumer.call(settle(response))
      end

      # @return [Numeric, nil] seconds until the next attempt; nil: the response is for the caller
      def judge(response)
        jar&.add(response.url, response.cookies)
        return redirect(response) if @redirects.follow?(response)
        return start_again if response.status == 401 && @message.renewed?(response, patience)

        @attempts.pause_after(response, @message)
      end

      # @return [Float, nil] monotonic seconds, for the wait until another call has renewed the credentials
      def patience = Timeouts.earlier(@deadline, @timeouts.first_byte && (Deadline.now + @timeouts.first_byte))

      def redirect(response)
        following = @redirects.next(@message.request, response, @history.size, body: @message.upload)
        refuse_circle(following, response)
        @history << response
        @message = @message.follow(following)
        start_again
      end

      def start_again
        @attempts.start_again
        0
      end

      # With cookies the same question may have another answer the next time.
      def refuse_circle(following, response)
        asked = [*@history, response].map { |earlier| [earlier.request.method, earlier.request.url.to_s] }
        return if jar || !asked.include?([following.method, following.url.to_s])

        where = asked.last.last == following.url.to_s ? "to itself" : "in a circle: #{following.url} was asked before"
        raise RedirectError.new("#{@message} (#{response.status}) redirects #{where}", response: response)
      end

      def jar = @client.settings.cookies

      def decoding(response) = Decoding.for(@client, @message.request, response)

      def identify(response)
        response.url ||= @message.request.url.whole
        response.request = @message.request
        response
      end

      def settle(response)
        response.redirects = @history unless @history.empty?
        response
      end

      # @return [Error] with the request and the number of attempts
      def explained(error)
        return error if error.is_a?(UsageError)

        asked = @message unless error.message.include?(@message.to_s)
        about = "#{asked}#{@attempts}#{advice(error)}".delete_prefix(", ").delete_prefix("; ")
        about.empty? ? error : error.exception("#{error.message} (#{about})")
      end

      # @return [String] the option that has ended the wait for a connection; of an exchange its wire names the option
      def advice(error)
        return "" unless error.is_a?(ConnectTimeout) || error.is_a?(PoolTimeout)
        return "; #{@timeouts.option(:total)}" if @deadline && Deadline.now >= @deadline

        error.is_a?(PoolTimeout) ? "; pool: {wait: #{@client.settings.pool[:wait]}}" : "; #{@timeouts.option(:connect)}"
      end
    end
    private_constant :Exchange
  end
end
