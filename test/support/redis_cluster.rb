# frozen_string_literal: true

require_relative "redis_conversation"
require_relative "redis_server"
require_relative "waiting"

module Support
  # Redis servers that are a cluster: masters with even shares of the slots, and replicas.
  class RedisCluster
    SLOTS = 16_384
    CONFIG = { "cluster-enabled" => "yes", "cluster-config-file" => "nodes.conf", "cluster-require-full-coverage" => "no",
               "cluster-replica-validity-factor" => "0", "repl-diskless-sync-delay" => "0", "repl-ping-replica-period" => "1",
               "cluster-allow-replica-migration" => "no" }.freeze
    PATIENCE = 60
    # Milliseconds of silence after which a node takes another one for dead: where none is to die, no slowness is to kill one.
    NODE_TIMEOUT = 60_000

    # @yieldparam cluster [RedisCluster]
    def self.start(**options)
      cluster = new(**options)
      return cluster unless block_given?

      begin
        yield cluster
      ensure
        cluster.stop
      end
    end

    # @return [Array<RedisServer>] masters first, then the replicas of each in their order
    attr_reader :servers

    def initialize(masters: 3, replicas: 0)
      @masters = masters
      @config = CONFIG.merge("cluster-node-timeout" => NODE_TIMEOUT.to_s)
      @servers = Array.new(masters * (replicas + 1)) { add }
      join
      deal_out_slots
      wait { ready? }
      follow unless replicas.zero?
    end

    # One more, without slots.
    # @return [RedisServer]
    def grow
      @servers << add
      meet(@servers.last)
      wait { known?(@servers.size) && ready? } # a new one refuses for two seconds what it is given
      @servers.last
    end

    def masters = @servers.first(@masters)

    def addresses(servers = masters) = servers.map { |server| "127.0.0.1:#{server.port}" }

    def call(server, *words)
      reply = RedisConversation.open(server.port) { |redis| redis.call(*words) }
      Plait.const_get(:Protocols)::RESP.decode(reply)
    end

    def id(server) = call(server, "CLUSTER", "MYID")

    # @return [RedisServer] that has it by its own word
    def owner(slot)
      running.find do |server|
        call(server, "CLUSTER", "SLOTS").any? { |from, to, master| slot.between?(from, to) && master[1] == server.port }
      end
    end

    # Moves a slot while clients use it. The new owner must know the epoch of the former owner first. Otherwise a late message
    # of the former owner counts as newer than the move, and no server has the slot.
    # @yield when both know that it is on its way, before its keys are
    def move(slot, to, from: owner(slot))
      call(to, "CLUSTER", "SETSLOT", slot.to_s, "IMPORTING", id(from))
      call(from, "CLUSTER", "SETSLOT", slot.to_s, "MIGRATING", id(to))
      yield if block_given?
      until (keys = call(from, "CLUSTER", "GETKEYSINSLOT", slot.to_s, "10")).empty?
        migrate(from, to, keys)
      end
      wait { cluster_info(to, "current_epoch") >= cluster_info(from, "my_epoch") }
      [to, from].each { |server| call(server, "CLUSTER", "SETSLOT", slot.to_s, "NODE", id(to)) }
    end

    def cluster_info(server, name) = call(server, "CLUSTER", "INFO")[/^cluster_#{name}:(\d+)/, 1].to_i

    # REPLACE: of one that was too slow to say so some keys may be there already, and are still served by the one that they leave.
    def migrate(from, to, keys)
      call(from, "MIGRATE", "127.0.0.1", to.port.to_s, "", "0", (PATIENCE * 1000).to_s, "REPLACE", "KEYS", *keys)
    end

    def slot_of(key) = call(masters.first, "CLUSTER", "KEYSLOT", key)

    def stop = @servers.each(&:stop)

    def wait(&block) = Waiting.wait_until(timeout: PATIENCE, &block)

    private

    def config(server, name) = call(server, "CONFIG", "GET", name).last

    # A server that is not a part yet.
    def add = RedisServer.start(config: @config.merge("cluster-port" => Server.free_port))

    def join
      @servers.each_with_index { |server, index| call(server, "CLUSTER", "SET-CONFIG-EPOCH", (index + 1).to_s) }
      @servers.drop(1).each { |server| meet(server) }
      wait { known?(@servers.size) }
    end

    def meet(server)
      call(server, "CLUSTER", "MEET", "127.0.0.1", @servers.first.port.to_s, config(@servers.first, "cluster-port"))
    end

    def known?(count)
      running.all? { |server| call(server, "CLUSTER", "INFO")[/cluster_known_nodes:(\d+)/, 1].to_i >= count }
    end

    def covered(server) = call(server, "CLUSTER", "SLOTS").sum { |from, to,| to - from + 1 }

    def ready? = running.all? { |server| state(server) == "ok" && covered(server) == SLOTS }

    def running = @servers.select(&:pid)

    def state(server) = call(server, "CLUSTER", "INFO")[/cluster_state:(\w+)/, 1]

    def deal_out_slots
      ends = Array.new(@masters + 1) { |index| SLOTS * index / @masters }
      masters.zip(ends.each_cons(2)) { |server, (from, to)| call(server, "CLUSTER", "ADDSLOTSRANGE", from.to_s, (to - 1).to_s) }
    end

    def follow
      @servers.drop(@masters).each_with_index do |server, index|
        call(server, "CLUSTER", "REPLICATE", id(masters[index % @masters]))
      end
      wait { @servers.drop(@masters).all? { |server| call(server, "INFO", "replication").include?("master_link_status:up") } }
      wait { call(masters.first, "CLUSTER", "SLOTS").all? { |range| range.size == 3 + (@servers.size / @masters) - 1 } }
    end
  end
end
