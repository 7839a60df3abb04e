# frozen_string_literal: true

require "securerandom"
require_relative "fence"
require_relative "lease"

module Plait
  module Shard
    # The right of one reshard to move keys, recorded on all of its nodes: moving, then closed (no proxy is admitted), then
    # settled. The first node that is settled for the new placement decides that this placement counts. If a reshard ends before
    # that, the old placement counts. All of it is on the nodes, so another proxy can continue after a kill.
    class ReshardLock
      # Milliseconds for replicas of a node to receive a record.
      PATIENCE = 5000
      # Permissions that a proxy's user needs on the nodes.
      NEEDED = "CLIENT LIST, CLIENT KILL, CLIENT SETNAME, EVAL, SELECT and the key plait:shard"
      # An id that no connection has.
      NO_CLIENT = (2**62).to_s
      # Messages for clients and operators: the event, and the advice.
      TEXTS = {
        "moving" => ["keys are being moved by the proxy on", "wait for its end"],
        "closed" => ["keys are being moved by the proxy on", "wait; if it has died, go on with --reshard --resume"],
        "moved" => ["keys were moved by the proxy on", "a proxy that has the same nodes in its file is let in"],
        "kept" => ["keys were not moved by the proxy on", "a proxy that has the same nodes as before is let in"]
      }.freeze

      # @param lease [Lease] of the proxy
      # @param resume [Boolean] whether it may take over a reshard that was broken off
      def initialize(from, to, lease, resume:)
        @from = from
        @to = to
        @lease = lease
        @resume = resume
        @name = "#{Fence::PREFIX}claim:#{SecureRandom.hex(8)}"
        @by = "#{Socket.gethostname}, process #{Process.pid}"
        @stamps = {}
        @connections = {}
        @others = {}
        @state = :none
      end

      # Reads the records of the nodes, and takes the nodes over where the records allow it.
      # @return [Symbol] :moving; :decided: another reshard has moved the keys, and only its last steps are missing; :settled:
      #   nothing is missing
      # @raise [UsageError] another reshard is under way or was broken off, another proxy would not follow, or a permission is
      #   missing on a node
      # @raise [ConnectionError, RemoteError, TimeoutError] of a node
      def begin
        records = names.to_h { |name| [name, open_plainly(name) { |connection| look(connection, name) }] }
        judgement = Judgement.new(@from, @to, records, @others)
        step = judgement.step(resume: @resume)
        return step if step == :settled

        judgement.check_others
        @base = judgement.base
        take(records, step)
        @state = step
      end

      # From here on no proxy is admitted.
      def close
        return if @state == :decided

        write_all("closed")
        names.each { |name| nodes_of(name).flat_map(&:replicas).uniq.each { |replica| await_replica(replica, name) } }
      end

      # The new placement counts as soon as one node has this record. A proxy writes it later to a node that is unreachable now.
      # @raise [ConnectionError, RemoteError, TimeoutError] no node took the record
      def settle
        return if @state == :decided

        @state = :settling
        settled, failures = try_each(masters(@from)) { |name| write_moved(name) }
        raise failures.first if settled.empty?

        try_each(names - masters(@from)) { |name| write_moved(name) }
      end

      # The old placement counts again, unless the new one may count already.
      def release
        return unless @state == :moving

        @state = :released
        try_each(names) { |name| open_plainly(name) { |connection| put(connection, name, record(name, "kept")) } }
      end

      # @return [NodeConnection] that ends when another reshard takes over; the caller closes it
      # @raise [UsageError] another reshard has taken over
      def connect(node, access)
        connection = NodeConnection.new(node, access)
        connection.call("CLIENT", "SETNAME", @name)
        return connection if Fence.read(connection).stamp == @stamps[node.to_s]

        raise UsageError, "another reshard has taken over the node #{node}: this one can't go on"
      rescue StandardError
        connection&.close
        raise
      end

      def shut = @connections.each_value(&:close)

      private

      # Nodes of the old placement first: a proxy that takes over asks all of these, and finds the decision there.
      def names = [@from, @to].flat_map { |settings| masters(settings) }.uniq

      def masters(settings) = settings.topology.masters.map(&:to_s)

      def settings_of(name) = masters(@to).include?(name) ? @to : @from

      def nodes_of(name) = [@to, @from].flat_map { |settings| settings.topology.masters }.select { |node| node.to_s == name }

      def open_plainly(name, &block) = NodeConnection.open(nodes_of(name).first, settings_of(name).access, &block)

      # ---- before ----

      def look(connection, name)
        connection.pipeline([%w[CLIENT LIST], ["CLIENT", "KILL", "ID", NO_CLIENT], ["CLIENT", "SETNAME", @name]])
        @others[name] = Lease.others(connection).except(@lease.id)
        Fence.read(connection)
      rescue RemoteError => e
        raise UsageError, "the node #{name} does not let the proxy keep other proxies from the old places (#{e.message}): a " \
                          "reshard needs #{NEEDED}"
      end

      # ---- records ----

      # After a broken reshard no proxy is admitted before all nodes are taken over: that reshard could still settle.
      def take(records, step)
        @epoch = records.values.map(&:epoch).max + 1
        @stamps = records.transform_values(&:stamp)
        return write_all("moved") if step == :decided

        write_all("closed") if records.values.any? { |record| record.there? && !record.settled? }
        write_all("moving")
      rescue Error
        give_back(records)
        raise
      end

      def give_back(records)
        taken = names.reject { |name| @stamps[name] == records[name].stamp }
        try_each(taken) { |name| open_plainly(name) { |connection| put(connection, name, records[name]) } }
      end

      def record(name, state)
        was, will = [@from, @to].map { |settings| Fence.token(settings, name) }
        serves = { "closed" => "", "moved" => will }.fetch(state, was)
        text = "#{TEXTS.fetch(state)[0]} #{@by}, #{Time.now.utc.strftime("%FT%TZ")}; #{TEXTS.fetch(state)[1]}"
        Fence::Record.new(SecureRandom.hex(8), @epoch, @base, state, was, will, serves, @lease.id, text)
      end

      def write_all(state) = names.each { |name| write(name, record(name, state)) }

      def write(name, record)
        unless put(own(name), name, record)
          raise UsageError, "another proxy has taken over the node #{name}: this reshard can't go on"
        end

        await_copies(name) if record.state == "closed"
        Fence.kill_others(own(name), record.serves, @name)
      end

      # Another proxy may have written the record already.
      def write_moved(name)
        write(name, record(name, "moved"))
      rescue UsageError
        found = Fence.read(own(name))
        raise unless found.epoch == @epoch && found.state == "moved"

        @stamps[name] = found.stamp
      end

      def put(connection, name, record)
        Fence.write(connection, @stamps.fetch(name), record).tap { |done| @stamps[name] = record.stamp if done }
      end

      def own(name)
        @connections[name] ||= NodeConnection.new(nodes_of(name).first, settings_of(name).access).tap do |connection|
          connection.call("CLIENT", "SETNAME", @name)
        end
      end

      # A replica may become master.
      def await_copies(name)
        connection = own(name)
        copies = connection.call("INFO", "replication")[/^connected_slaves:(\d+)/, 1].to_i
        return if copies.zero? || connection.call("WAIT", copies, PATIENCE) >= copies

        raise TimeoutError, "replicas of the node #{name} don't follow it: they would admit former proxies"
      end

      # A proxy may read from it.
      def await_replica(replica, name)
        NodeConnection.open(replica, settings_of(name).access) do |connection|
          ends = Deadline.now + (PATIENCE / 1000.0)
          until Fence.read(connection).stamp == @stamps[name]
            if Deadline.now > ends
              raise TimeoutError, "the replica #{replica} does not follow its master: proxies would read old values"
            end

            sleep(0.01)
          end
          Fence.kill_others(connection, "")
        end
      end

      # @return [(Array<String>, Array<Error>)] the nodes without an error, and the errors of the others
      def try_each(names)
        failures = []
        done = names.select do |name|
          yield(name)
          true
        rescue Error => e
          failures << e
          false
        end
        [done, failures]
      end
    end

    # Decides whether a reshard may begin, from the records of earlier reshards and of other proxies on its nodes.
    class Judgement
      # @return [Integer] the epoch of the last settled reshard; 0: there is none
      attr_reader :base

      # @param records [Hash{String => Fence::Record}] of each node
      # @param others [Hash{String => Hash}] for each node, the other proxies that are alive
      def initialize(from, to, records, others)
        @from = from
        @to = to
        @others = others
        @mine = records.select { |name, record| record.there? && !elsewhere?(name, record) }
        @newest = @mine.each_value.max_by(&:epoch)
        @base = base_of(@newest)
      end

      # @param resume [Boolean] whether a reshard that was broken off may be taken over
      # @return [Symbol] (see ReshardLock#begin)
      # @raise [UsageError] another reshard is under way or was broken off, or had other places
      def step(resume:)
        return :moving unless @newest

        recent = @mine.select { |_, record| record.epoch >= @base }
        open = recent.reject { |_, record| record.settled? }
        return after_settled(recent) if open.empty?

        open.each_value { |record| check_broken(record, resume) }
        after_broken(recent, open)
      end

      # @raise [UsageError] another proxy would not follow
      def check_others
        @others.each do |name, proxies|
          token = Fence.token(@to, name)
          proxy = proxies.each_value.find { |one| ![one["serves"], one["follows"]].include?(token) } or next
          raise UsageError, "the proxy on #{proxy["by"]} is alive and would not follow: give it the new file, which it takes " \
                            "up when the keys have moved, or stop it"
        end
      end

      private

      # The node has left this shard, or another one: its record says nothing about this reshard.
      def elsewhere?(name, record) = record.settled? && record.serves.empty? && Fence.token(@from, name).empty?

      def base_of(record)
        return 0 unless record

        record.settled? ? record.epoch : record.base
      end

      def after_settled(recent)
        return :settled if !all?(recent, @from, :serves) && all?(recent, @to, :serves)

        check(recent, @from, :serves)
        :moving
      end

      def after_broken(recent, open)
        moved = recent.select { |_, record| record.state == "moved" }
        if moved.any?
          check(moved, @to, :will)
          return :decided
        end
        check(open, @from, :was)
        check(recent.except(*open.keys), @from, :serves)
        :moving
      end

      def all?(records, settings, field) = records.all? { |name, record| record[field] == Fence.token(settings, name) }

      def check(records, settings, field)
        name, record = records.find { |node, one| one[field] != Fence.token(settings, node) }
        return unless name

        raise UsageError, "the placement #{settings.equal?(@to) ? "to move to" : "of this proxy"} is not that of the node " \
                          "#{name}: #{record.text}. Where that was another shard, which is over, delete its key " \
                          "#{Fence::RECORD} in database #{Fence::DATABASE}"
      end

      def check_broken(record, resume)
        alive = @others.each_value.any? { |proxies| proxies.key?(record.owner) }
        raise UsageError, "another reshard is under way: #{record.text}" if alive
        return if resume

        raise UsageError, "a reshard was broken off: #{record.text}. resume: true (--resume) goes on with it"
      end
    end
    private_constant :Judgement, :ReshardLock
  end
end
