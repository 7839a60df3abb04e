# frozen_string_literal: true

require_relative "apart"
require_relative "../io/resolver"
require_relative "../values/errors"

module Plait
  module DB
    # What a driver can't wait for through a fiber's scheduler, and what is done about it: all of it, and nowhere else.
    #
    # | driver | what | why | here |
    # |---|---|---|---|
    # | mysql2 | connecting | getaddrinfo(3) and the server's greeting are awaited in C | {apart}: on a thread of its own |
    # | mysql2 | prepared statements | the answer is awaited in C | {call}: on a thread |
    # | mysql2 | `stream` | rows are awaited in C, one by one | {Batches}: a thread fetches ahead |
    # | trilogy | connecting | `TCPSocket.new` with a timeout resolves the name by itself | {addresses}: resolved before |
    # | sqlite3 | everything | it computes, and keeps Ruby's lock even on a thread | its progress handler: {breathe} |
    # | mongo | `IO.select`, `Kernel.select` | no hook on Ruby 3.1 | Plait::Mechanisms::Compat, for every program |
    # | all | many rows that are at hand | nothing is waited for, so no other fiber gets its turn | {breathe} |
    #
    # PostgreSQL's driver and redis-client need nothing: both wait in Ruby's hooks, and resolve names by them. The rows of a
    # `query` with mysql2 are awaited in C too, once the first of them has come: `stream` is for results that are large.
    module Aside
      # Rows between two pauses.
      ROWS = 500

      module_function

      # @param stop [#call, nil] breaks the call off when nobody waits for it any longer
      # @return [Object] what the block returns
      def call(stop: nil, &block) = Plait.offload(stop: stop, &block)

      # @param discard [#call] is given what comes when nobody waits for it any longer
      # @return [Object] what the block returns
      def apart(discard:, &block) = fibers? ? Apart.call(discard: discard, &block) : yield

      # @return [Boolean] whether waiting has to leave the event loop alone
      def fibers? = !Fiber.current_scheduler.nil?

      # @return [Array<String>] the host itself outside of fibers, where the driver may look
      # @raise [ResolveError]
      def addresses(host, port)
        fibers? ? RESOLVER.resolve(host, port).map(&:ip_address) : [host]
      end

      # @param addresses [Array<String>]
      # @param errors [Array<Class>] by which the driver says that nobody answers
      # @return [Object] what the block returns for the first of them at which somebody answers
      # @raise [StandardError] the last error
      def first(addresses, *errors)
        *others, last = addresses
        others.each do |address|
          return yield(address)
        rescue SystemCallError, IOError, *errors
          next
        end
        yield(last)
      end

      # Lets the other fibers run.
      def breathe = fibers? && sleep(0)

      RESOLVER = Io::Resolver.new
      private_constant :RESOLVER
    end
  end
end
