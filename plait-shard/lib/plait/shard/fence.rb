# frozen_string_literal: true

require_relative "../protocols/resp"

module Plait
  module Shard
    # After a reshard each node has a record of the placement, in its database 1, which clients of the shard can't see.
    #
    # A connection of a proxy first sets its name, with the token of its placement. Then it asks the node whether the record
    # admits this token. A reshard changes the record, and then ends all connections with another token in their names. A
    # connection that asked before the change is in the list of names; one that asks later is refused. So a proxy that was
    # asleep can't write to a former place, and no command costs more. See guides/decisions/0012.
    module Fence
      DATABASE = 1
      RECORD = "plait:shard"
      PROXIES = "plait:shard:proxies"
      # Names of connections begin with it.
      PREFIX = "plait-shard:"
      FIELDS = %w[stamp epoch base state was will serves owner text].freeze
      # Clients read its error, which names the proxy that changed the placement, and the time.
      CHECK = <<~LUA.strip.gsub("\n", " ")
        redis.call('SELECT', #{DATABASE})
        local record = redis.call('HMGET', KEYS[1], 'serves', 'text')
        if record[1] == ARGV[1] or (not record[1] and ARGV[2] == '') then return 'OK' end
        return {err = 'PLAITMOVED ' .. (record[2] or 'other nodes know where keys are, this one does not know it yet')}
      LUA
      READ = "redis.call('SELECT', #{DATABASE}) return redis.call('HMGET', KEYS[1], unpack(ARGV))".freeze
      # Writes only where the record still has the stamp that was read.
      WRITE = <<~LUA.freeze
        redis.call('SELECT', #{DATABASE})
        if (redis.call('HGET', KEYS[1], 'stamp') or '') ~= ARGV[1] then return 0 end
        redis.call('DEL', KEYS[1])
        if ARGV[2] then redis.call('HSET', KEYS[1], unpack(ARGV, 2)) end
        return 1
      LUA

      # The record of a node: epoch is the number of the reshard, base that of the last settled one before it, state its stage
      # (moving, closed, moved or kept), was and will the tokens before and after it, serves the admitted token.
      Record = Struct.new(*FIELDS.map(&:to_sym)) do
        def there? = !stamp.empty?

        def settled? = %w[moved kept].include?(state)
      end

      module_function

      # @param name [String] of a node
      # @return [String] the placement, and the index of the node in it; empty: it is not one of its nodes
      def token(settings, name)
        index = settings.topology.masters.index { |node| [node, *node.replicas].any? { |own| own.to_s == name } }
        index ? "#{settings.placement.fingerprint}:#{index}" : ""
      end

      # @param name [String] of a node
      # @param recorded [Boolean] whether any node has a record: then a node without one is refused
      # @return [(String, Integer), nil] the first commands of a connection of the data plane, and their number; nil: with a
      #   cluster, or with Sentinels, where the shard moves no keys
      def greeting(settings, name, recorded)
        return if settings.source.watched?

        token = token(settings, name)
        credentials = settings.access.credentials
        commands = [*([["AUTH", *credentials]] if credentials.any?), ["CLIENT", "SETNAME", "#{PREFIX}#{token}:#{Process.pid}"],
                    ["EVAL", CHECK, "1", RECORD, token, recorded ? "1" : ""]]
        [commands.map { |words| Protocols::RESP.encode(words) }.join, commands.size]
      end

      # @return [Hash{String => Object}] the block's value for each node that answered
      def ask(nodes, settings)
        asking = nodes.map do |node|
          Thread.new do
            access = settings.access
            NodeConnection.open(node, access, patience: access.timeout) { |one| [node.to_s, yield(one, node.to_s)] }
          rescue StandardError
            nil # it does not answer, does not allow that, or answers nonsense
          end
        end
        asking.filter_map(&:value).to_h
      end

      # @return [Hash{String => Record}] for each node that answered; empty with a cluster or Sentinels
      def records(settings)
        return {} if settings.source.watched?

        ask(settings.topology.masters, settings) { |connection| read(connection) }
      end

      def read(connection)
        values = Array(connection.call("EVAL", READ, "1", RECORD, *FIELDS)).map(&:to_s)
        raise RemoteError, "it has answered with something else" unless values.size == FIELDS.size

        Record.new(*values).tap { |record| %i[epoch base].each { |name| record[name] = record[name].to_i } }
      end

      # @param former [String] the expected stamp
      # @param record [Record] one without a stamp is deleted
      # @return [Boolean] whether the node had that stamp
      def write(connection, former, record)
        fields = record.there? ? FIELDS.zip(record.to_a).flatten : []
        connection.call("EVAL", WRITE, "1", RECORD, former, *fields) == 1
      end

      # Ends the connections of proxies whose placement is not admitted. A proxy names a connection before it asks, so one list
      # after the change of the record has all that were admitted before.
      # @param serves [String] the admitted token
      # @param own [String] a name whose connections stay
      def kill_others(connection, serves, own = "")
        clients = connection.call("CLIENT", "LIST").scan(/^id=(\d+) .*? name=(\S*)/)
        ids = clients.filter_map { |id, name| id if name.start_with?(PREFIX) && name != own && !let_in?(name, serves) }
        connection.pipeline(ids.map { |id| ["CLIENT", "KILL", "ID", id] }) if ids.any?
      end

      # @return [Boolean] whether a connection of this name has the admitted placement
      def let_in?(name, serves) = !serves.empty? && name.start_with?("#{PREFIX}#{serves}:")
    end
    private_constant :Fence
  end
end
