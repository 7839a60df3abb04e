# frozen_string_literal: true

module Plait
  module Shard
    # Copies the keys whose place changes, while clients use the old places. A key is copied as a whole (DUMP and RESTORE, which
    # checks it) with its time to live. A key that changes later is copied again: nodes announce changes. After the last write of
    # a client, {#finish} copies the rest, and both places have the same values.
    class Resharding
      BATCH = 200
      # Changes in a round that are few enough for {#finish}, and rounds at most, where clients write faster than keys are copied.
      FEW = 500
      ROUNDS = 30
      # RDB's numbers of types whose changes nodes announce. Other types, such as streams (XACK …), are copied again at the end.
      ANNOUNCED = [*0..14, 16, 17, 18, 20].freeze
      # PTTL of a key without a time to live.
      FOREVER = -1

      # @return [Integer] copied keys; a changed key counts each time
      attr_reader :copies

      # @param lock [ReshardLock] on the nodes
      # @param resume [Boolean] whether copies of a broken reshard may be there
      def initialize(from, to, lock, resume: false)
        @from = from
        @to = to
        @old_names, @new_names = [from, to].map { |settings| settings.placement.nodes.map(&:to_s) }
        @reshard_lock = lock
        @resume = resume
        @copies = 0
        @changed = {}
        @untold = {}
        @lock = Mutex.new
        @connections = {}
        @watches = []
      end

      # Copies keys until few are left. Clients may write meanwhile.
      # @raise [UsageError] there are copies of a broken reshard, and resume: is false
      # @raise [ConnectionError, RemoteError, TimeoutError] nothing has changed for clients
      def prepare
        @from.placement.nodes.each { |node| connection(node.to_s).call("PING") }
        look_for_copies
        @flushed = flushes
        copy_functions
        watch
        each_moving { |keys| copy(keys) }
        verify
        ROUNDS.times { break if copy(take_changed) < FEW }
      end

      # Copies the rest. No client writes.
      def finish
        @watches.each(&:catch_up)
        @new_names.each { |name| connection(name).call("PING") } # a node that does not answer can't receive keys
        change(copies_there) if flushes != @flushed
        copy(take_changed | @untold.keys)
        @watches.each(&:catch_up) # keys that have just expired
        copy(take_changed)
      end

      # Deletes keys that have another place now from nodes that stay. Keys that were at no place of theirs, as a script writes
      # them beside its own, have no copy, and stay.
      def clean
        (@old_names & @new_names).each do |name|
          scan(name) do |keys|
            old = copied(name, keys)
            connection(name).call("UNLINK", *old) if old.any?
          end
        end
      end

      def close
        @watches.each(&:close)
        @connections.each_value(&:close)
      end

      private

      def old_place(key) = @old_names[@from.placement.node_for(key)]

      def new_place(key) = @new_names[@to.placement.node_for(key)]

      def moves?(key) = old_place(key) != new_place(key)

      # An earlier reshard that was broken off may have left keys of its own old places.
      # @return [Array<String>] keys of a node that are at their new places, too
      def copied(name, keys)
        moved, others = keys.reject { |key| new_place(key) == name }.partition { |key| old_place(key) == name }
        @resume && others.any? ? moved + (others - missing(others)) : moved
      end

      def connection(name)
        @connections[name] ||= begin
          settings = @new_names.include?(name) ? @to : @from
          @reshard_lock.connect(settings.placement.nodes.find { |node| node.to_s == name }, settings.access)
        end
      end

      def scan(name)
        cursor = "0"
        loop do
          cursor, keys = connection(name).call("SCAN", cursor, "COUNT", BATCH)
          yield(keys) if keys.any?
          return if cursor == "0"
        end
      end

      # A copy that has not arrived is made again.
      def verify = each_moving { |keys| change(missing(keys)) }

      # @yieldparam keys [Array<String>] at their old place, and with another new one
      def each_moving
        @old_names.each do |name|
          scan(name) do |keys|
            moving = keys.select { |key| new_place(key) != name && old_place(key) == name }
            yield(moving) if moving.any?
          end
        end
      end

      # ---- copies that are there already ----

      def look_for_copies
        found = copies_there
        return change(found) if @resume || found.empty?

        raise UsageError, "#{found.size} keys, such as #{found.first.inspect}, are at their new places already: from a reshard " \
                          "that was broken off (resume: true renews or deletes them), or from another shard"
      end

      # Copies at the new place come from a broken reshard.
      def copies_there
        @new_names.flat_map do |name|
          found = []
          scan(name) { |keys| found.concat(keys.select { |key| new_place(key) == name && old_place(key) != name }) }
          found
        end
      end

      def missing(keys)
        keys.group_by { |key| new_place(key) }.flat_map do |name, own|
          next [] if connection(name).call("EXISTS", *own) == own.size

          there = connection(name).pipeline(own.map { |key| ["EXISTS", key] })
          own.zip(there).filter_map { |key, count| key if count.zero? }
        end
      end

      # ---- changes ----

      def watch
        @from.placement.nodes.each do |node|
          @watches << ChangeWatch.new(node, -> { @reshard_lock.connect(node, @from.access) }) do |key|
            change([key]) if old_place(key) == node.to_s && moves?(key)
          end
        end
      end

      # How often all keys were deleted at once, which nodes don't announce by key.
      def flushes
        @old_names.map do |name|
          connection(name).call("INFO", "commandstats").scan(/^cmdstat_(?:flush|swapdb)\w*:calls=\d+/).sort
        end
      end

      def change(keys) = @lock.synchronize { keys.each { |key| @changed[key] = true } }

      def take_changed = @lock.synchronize { @changed.keys.tap { @changed.clear } }

      # ---- copying ----

      # @return [Integer] how many
      def copy(keys)
        keys.each_slice(BATCH) do |batch|
          batch.group_by { |key| old_place(key) }.each { |name, own| write(read(name, own)) }
        end
        @copies += keys.size
        keys.size
      end

      # A key that changes between the two commands is copied again, as any that changes.
      # @return [Array<(String, String, Integer)>] key, answer of DUMP, milliseconds to live
      def read(name, keys)
        replies = connection(name).pipeline(keys.flat_map { |key| [["DUMP", key], ["PTTL", key]] })
        keys.zip(replies.each_slice(2)).map { |key, (dump, left)| [key, dump, left] }
      end

      def write(values)
        values.group_by { |key,| new_place(key) }.each do |name, own|
          connection(name).pipeline(own.map { |key, dump, left| command(key, dump, left) })
        end
      end

      # To RESTORE, 0 is a key without an end.
      def command(key, dump, left)
        return ["DEL", key] unless dump

        @untold[key] = true unless ANNOUNCED.include?(dump.getbyte(0))
        ["RESTORE", key, left == FOREVER ? 0 : [left, 1].max, dump, "REPLACE"]
      end

      # Functions that all nodes have, for the new nodes.
      def copy_functions
        added = @new_names - @old_names
        return if added.empty?

        functions = connection(@old_names.first).call("FUNCTION", "DUMP")
        added.each { |name| connection(name).call("FUNCTION", "RESTORE", functions, "REPLACE") }
      rescue RemoteError => e
        raise unless e.message.match?(/unknown/i) # before Redis 7
      end
    end

    # Reads which keys of a node change, from its keyspace notifications, while it is open.
    class ChangeWatch
      SETTING = "notify-keyspace-events"
      # All events, on channels by event.
      EVENTS = "AE"
      PATTERN = "__keyevent@0__:*"

      # @param connect [#call] => NodeConnection, that ends when another reshard takes over: both would change the same setting
      # @yieldparam key [String] on a thread of its own
      # @raise [ConnectError, RemoteError] for instance, the node refuses CONFIG SET
      def initialize(node, connect, &changed)
        @node = node
        @commands = connect.call
        @before = @commands.call("CONFIG", "GET", SETTING).last
        @commands.call("CONFIG", "SET", SETTING, (@before + EVENTS).chars.uniq.join)
        @events = connect.call
        @events.call("PSUBSCRIBE", PATTERN)
        @changed = changed
        @other_messages = Queue.new
        @thread = Thread.new { listen }
        @thread.report_on_exception = false
      end

      # Returns when all earlier changes have been announced.
      # @raise [ConnectionClosed] announcements may be missing
      # @raise [ReadTimeout] the node is silent: clients can't wait for it
      def catch_up
        deadline = Deadline.now + NodeConnection::PATIENCE
        @events.send_only("PING", "caught up")
        sleep(0.001) while @other_messages.empty? && @thread.alive? && Deadline.now < deadline
        if @other_messages.empty?
          raise ReadTimeout, "the node #{@node} has announced nothing for #{NodeConnection::PATIENCE} s" if @thread.alive?

          raise ConnectionClosed.new("the node #{@node} no longer announces changes", endpoint: "tcp://#{@node}")
        end

        @other_messages.pop
      end

      def close
        @thread.kill.join
        @commands.call("CONFIG", "SET", SETTING, @before)
      rescue Error
        nil # the node is gone, and its setting with it
      ensure
        [@events, @commands].each(&:close)
      end

      private

      def listen
        loop do
          kind, _, _, key = message = @events.read(nil)
          kind == "pmessage" ? @changed.call(key) : @other_messages << message
        end
      rescue Error
        nil # {#catch_up} raises an error
      end
    end
    private_constant :Resharding, :ChangeWatch
  end
end
