# frozen_string_literal: true

require "plait/values/errors"
require_relative "node_connection"

module Plait
  module Shard
    # What each node knows of the placement, once keys were moved: a record in its database 1, which no client of a shard sees.
    # Every connection of a proxy to a node tells its name first and then asks whether the record lets its placement in. A reshard
    # changes the record and then ends the connections with another placement in their names: a connection that asked before is in
    # the list of names, one that asks later is refused. A proxy that slept can't write what is lost, and no command costs more.
    # See guides/decisions/0012.
    # @api private
    module Fence
      DATABASE = 1
      RECORD = "plait:shard"
      PROXIES = "plait:shard:proxies"
      # Of names of connections.
      PREFIX = "plait-shard:"
      FIELDS = %w[stamp epoch base state was will serves owner text].freeze
      # Clients read its error: which proxy changed the placement, and when.
      CHECK = <<~LUA.strip.gsub("\n", " ")
        redis.call('SELECT', #{DATABASE})
        local record = redis.call('HMGET', KEYS[1], 'serves', 'text')
        if record[1] == ARGV[1] or (not record[1] and ARGV[2] == '') then return 'OK' end
        return {err = 'PLAITMOVED ' .. (record[2] or 'other nodes know where keys are, this one does not know it yet')}
      LUA
      READ = "redis.call('SELECT', #{DATABASE}) return redis.call('HMGET', KEYS[1], unpack(ARGV))".freeze
      # Only where the record is still the one that was read.
      WRITE = <<~LUA.freeze
        redis.call('SELECT', #{DATABASE})
        if (redis.call('HGET', KEYS[1], 'stamp') or '') ~= ARGV[1] then return 0 end
        redis.call('DEL', KEYS[1])
        if ARGV[2] then redis.call('HSET', KEYS[1], unpack(ARGV, 2)) end
        return 1
      LUA

      # What a node has written down: of which reshard (epoch; the first one that is not settled before it: base), how far that is
      # (moving, closed, moved or kept), the tokens of the placements before and after it, and of the one that is let in.
      Record = Struct.new(*FIELDS.map(&:to_sym)) do
        def there? = !stamp.empty?

        def settled? = %w[moved kept].include?(state)
      end

      module_function

      # @param settings [Settings]
      # @param name [String] of a node
      # @return [String] the placement, and which of its nodes that is; empty: it is none of them
      def token(settings, name)
        index = settings.topology.masters.index { |node| [node, *node.replicas].any? { |own| own.to_s == name } }
        index ? "#{settings.placement.fingerprint}:#{index}" : ""
      end

      # @param settings [Settings]
      # @param name [String] of a node
      # @param recorded [Boolean] whether one of the nodes has a record: then none without one is right
      # @return [(String, Integer), nil] what a connection of the data plane begins with, and how many commands that are; nil: of
      #   a cluster, or with Sentinels, where the shard moves no keys
      def greeting(settings, name, recorded)
        return if settings.source.watched?

        token = token(settings, name)
        credentials = settings.access.credentials
        commands = [*([["AUTH", *credentials]] if credentials.any?), ["CLIENT", "SETNAME", "#{PREFIX}#{token}:#{Process.pid}"],
                    ["EVAL", CHECK, "1", RECORD, token, recorded ? "1" : ""]]
        [commands.map { |words| NodeConnection.encode(words) }.join, commands.size]
      end

      # @param nodes [Array<Node>]
      # @param settings [Settings]
      # @yieldparam connection [NodeConnection]
      # @yieldparam name [String]
      # @return [Hash{String => Object}] of each node that could be asked what the block returned
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

      # @param settings [Settings]
      # @return [Hash{String => Record}] of each node that could be asked; none with a cluster or Sentinels
      def records(settings)
        return {} if settings.source.watched?

        ask(settings.topology.masters, settings) { |connection| read(connection) }
      end

      # @param connection [NodeConnection]
      # @return [Record]
      # @raise (see NodeConnection#call)
      def read(connection)
        values = Array(connection.call("EVAL", READ, "1", RECORD, *FIELDS)).map(&:to_s)
        raise RemoteError, "it has answered with something else" unless values.size == FIELDS.size

        Record.new(*values).tap { |record| %i[epoch base].each { |name| record[name] = record[name].to_i } }
      end

      # @param connection [NodeConnection]
      # @param former [String] the stamp that it has to have
      # @param record [Record] one that is not there is deleted
      # @return [Boolean] whether it had that
      # @raise (see NodeConnection#call)
      def write(connection, former, record)
        fields = record.there? ? FIELDS.zip(record.to_a).flatten : []
        connection.call("EVAL", WRITE, "1", RECORD, former, *fields) == 1
      end

      # Ends the connections of proxies whose placement is not let in. A proxy names a connection before it asks, so that one list
      # behind the change of the record has all that were let in before.
      # @param connection [NodeConnection]
      # @param serves [String] the token that is let in
      # @param own [String] the name of connections that may stay
      # @return [void]
      # @raise (see NodeConnection#call)
      def kill_others(connection, serves, own = "")
        clients = connection.call("CLIENT", "LIST").scan(/^id=(\d+) .*? name=(\S*)/)
        ids = clients.filter_map { |id, name| id if name.start_with?(PREFIX) && name != own && !let_in?(name, serves) }
        connection.pipeline(ids.map { |id| ["CLIENT", "KILL", "ID", id] }) if ids.any?
      end

      # @return [Boolean] whether a connection of this name is of the placement that is let in
      def let_in?(name, serves) = !serves.empty? && name.start_with?("#{PREFIX}#{serves}:")
    end
    private_constant :Fence
  end
end
