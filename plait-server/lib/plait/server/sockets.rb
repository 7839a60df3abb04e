# frozen_string_literal: true

require_relative "place"

module Plait
  class Server
    # All sockets that a configuration wants: inherited from a service manager as far as it has opened them, else opened here,
    # before the app is loaded. Sockets opened here refuse connections until the app is loaded: see {#listen}.
    class Sockets
      # Where neither the place nor the kernel says less.
      BACKLOG = 4096
      # Whether the kernel deals connections out to all sockets that listen at one address.
      DEALS = RUBY_PLATFORM.include?("linux")
      NO_DEAL = "reuse_port! has no effect here: only Linux deals connections out to several sockets, so the workers share one"

      # @param count [Integer] of workers; 0: none
      # @param env [ENV, Hash] of the service manager (sd_listen_fds(3))
      # @param deals [Boolean] see DEALS
      # @raise [ListenError, UsageError]
      def initialize(configuration, count, env = ENV, deals: DEALS)
        @opened = []
        @late = []
        @inherited = Io::Listener.from_environment(env)
        reuses = configuration.reuse_port && count > 1
        @several = reuses && deals ? count : 1
        @complaint = NO_DEAL if reuses && !deals
        configuration.binds.empty? && @inherited.any? ? take_all : open_all(configuration.places)
      rescue StandardError
        close
        raise
      end

      # @param handed_over [Array<Array(Integer, Integer, String)>] of another process, see {#handed_over}
      # @return [Sockets] with the certificates as they are now
      # @raise [UsageError]
      def self.of(handed_over) = allocate.tap { |sockets| sockets.send(:adopt, handed_over) }

      # @return [Array<Array(Integer, Integer, String)>] descriptors, each with its only worker, and its place
      def handed_over = @opened.map { |listener, worker, place| [listener.io.fileno, worker, place&.text] }

      # @yieldparam worker [Integer, nil] the only one that accepts there
      def each(&block) = @opened.each { |listener, worker| block.call(listener, worker) }

      # The app is loaded: from now on connections are accepted, in all processes that have the sockets.
      # @raise [ListenError]
      def listen = @late.each(&:listen)

      def endpoints = @opened.map { |listener, _| listener.endpoint }.uniq

      # @return [String, nil] that the kernel has cut the queue of connections, and how to raise it
      def short_queue
        capped = @opened.filter_map { |listener, _| listener.capped_backlog }.min or return
        "the kernel lets #{capped} connections wait to be accepted, not #{BACKLOG}: sysctl -w net.core.somaxconn=#{BACKLOG}"
      end

      # @return [Array<String>] what clients will have against certificates, and settings without an effect
      def warnings = [@complaint, *@opened.map { |_, _, place| place&.warning }].compact.uniq

      def close = @opened.each { |entry| entry.first.close }

      private

      def adopt(handed_over)
        @late = []
        @opened = handed_over.map do |number, worker, text|
          listener = Io::Listener.new(Socket.for_fd(number).tap { |socket| socket.close_on_exec = true })
          place = Place.new(text) if text
          [place ? place.renew(listener) : listener, worker, place]
        end
      end

      # Where nothing is said the service manager knows.
      def take_all
        @opened = @inherited.map { |listener| [listener, nil, nil] }
        @inherited = []
      end

      # Sockets of the service manager that no place names are closed.
      def open_all(texts)
        texts.map { |text| Place.new(text).load }.each { |place| take(place) }
        @inherited.each(&:close)
      end

      def take(place)
        several = place.reusable? ? @several : 1
        first = place.open(inherited: @inherited, backlog: BACKLOG, reuse_port: several > 1, later: true)
        keep(first, several > 1 ? 0 : nil, place)
        (1...several).each do |worker|
          keep(place.open(at: first.endpoint, backlog: BACKLOG, reuse_port: true, later: true), worker, place)
        end
      end

      # The same socket may be adopted again, with another certificate.
      def keep(listener, worker, place)
        @opened << [listener, worker, place]
        @late << listener
      end
    end
  end
end
