# frozen_string_literal: true

require_relative "door"
require_relative "fence"
require_relative "topology"
require_relative "command_table"
require_relative "sources/sentinels"

module Plait
  module Shard
    # A started data plane, and the threads that keep its topology current.
    class Launch
      attr_reader :plane

      # @param descriptors [Array<Integer>] of listening sockets
      # @param encrypts [Boolean] whether clients speak TLS there
      # @yield when there are more nodes than it has room for
      # @raise [ConnectionError, RemoteError, TimeoutError] the nodes of the topology can't be read
      # @raise [UsageError] a certificate or a key is wrong, or a node is the proxy itself
      def initialize(plane, settings, descriptors, encrypts:, &outgrown)
        @plane = plane
        @topology = settings.topology
        @numbers = numbers(settings)
        nodes, placement, plan = @numbers.plan(@topology)
        Door.refuse_itself(nodes, descriptors)
        options = settings.native_options(encrypts, room: @numbers.room, plan: plan)
        whole do
          begin_with(plane, nodes, placement, descriptors, options)
          attend(settings, &outgrown)
        end
      end

      # @return [Topology] as it is now
      def topology = @watch&.topology || @topology

      # Asks each node whether it answers.
      # @param counts [Hash{String => (Integer, Integer)}] requests and failures of each address
      # @return [Array<Hash{Symbol => Object}>] (see Proxy#nodes)
      def nodes(access, counts)
        known = topology.nodes
        known.zip(Health.check(known, access)).map do |node, up|
          requests, failures = counts.fetch(node.to_s, [0, 0])
          { address: node.to_s, up: up, requests: requests, failures: failures }
        end
      end

      # @return [Hash{String => (Integer, Integer)}] requests and failures of each address in this plane
      def counts = @numbers.labels.zip(@plane.nodes).to_h { |label, own| [label, own || [0, 0]] }

      # The plane keeps running.
      def close = [@watch, @survey].compact.each(&:close)

      private

      # An interrupt would leave a plane that nothing stops: it serves clients beside the former one.
      def whole
        yield
        complete = true
      ensure
        abandon unless complete
      end

      def abandon
        @plane.stop
      ensure
        close
      end

      def attend(settings, &outgrown)
        watched = settings.source.watched?
        @watch = TopologyWatch.new(@plane, settings.source, @numbers, @topology, &outgrown) if watched
        @survey = NodeSurvey.new(@plane, settings.access, lasting: watched) { topology.masters }
      end

      def numbers(settings)
        recorded = Fence.records(settings).each_value.any?(&:there?)
        NodeNumbers.new(@topology, settings.access, grows: settings.source.watched?) do |name|
          Fence.greeting(settings, name, recorded)
        end
      end

      # libssl finds wrong files of TLS there.
      def begin_with(plane, *arguments)
        plane.start(*arguments)
      rescue ArgumentError => e
        raise UsageError, e.message
      end
    end

    # Keeps the data plane's topology current: reads it periodically, and after a node's refusal or a Sentinel's announcement of
    # a failover.
    class TopologyWatch
      # Seconds between two reads; seconds between two reads after an event; seconds for which the latter holds.
      PERIOD = 10
      SOON = 0.25
      ALERT = 10
      # Least seconds between two reads.
      GAP = 0.05

      # @return [Topology] the data plane's
      attr_reader :topology

      # @param plane [NativeShard::Plane] a running one
      # @param topology [Topology] the first one
      # @yield when there are more nodes than it has room for; the watch ends then
      def initialize(plane, source, numbers, topology, &outgrown)
        @plane = plane
        @source = source
        @numbers = numbers
        @topology = topology
        @outgrown = outgrown
        @notice = Uninterruptible.run { IO.for_fd(plane.notice) }
        @reader, @writer = IO.pipe
        @alert_until = 0
        @thread = Thread.new { watch }
        @switches = SwitchWatch.new(source) { @writer.write_nonblock("!", exception: false) } if source.is_a?(Sources::Sentinels)
      end

      def close
        @switches&.close
        @thread.kill.join unless @thread == Thread.current
        [@notice, @reader, @writer].each(&:close)
      end

      private

      def watch
        loop do
          doubted = wait
          break unless look(doubted) || !replaced?

          sleep(GAP)
        end
      end

      # @return [Boolean] false: the next look tries again
      def replaced?
        @outgrown.call
        true
      rescue StandardError
        false
      end

      # @return [Boolean] whether a node or a Sentinel has announced a change
      def wait
        ready, = IO.select([@notice, @reader], nil, nil, alert? ? SOON : PERIOD)
        return false unless ready

        @reader.read_nonblock(1024, exception: false) if ready.include?(@reader)
        @plane.notice_taken
        @alert_until = Deadline.now + ALERT
        true
      end

      def alert? = Deadline.now < @alert_until || @topology.partial?

      # @return [Boolean] false: there is no room for all nodes
      def look(doubted)
        found = @source.read(@topology, doubted: doubted)
        return true if found.equal?(@topology)
        return false unless @numbers.add(found.nodes)

        @plane.publish(*@numbers.plan(found))
        @topology = found
        true
      rescue StandardError
        true # the source is asked again; the last topology stays
      end
    end

    # Subscribes to a Sentinel's announcements of new masters.
    class SwitchWatch
      CHANNEL = "+switch-master"
      # Seconds until Sentinels are tried again, when none is reachable.
      PAUSE = 1

      # @yield on a thread of its own, after each announcement
      def initialize(sentinels, &switched)
        @sentinels = sentinels
        @switched = switched
        @thread = Thread.new { listen }
        @thread.report_on_exception = false
      end

      def close = @thread.kill.join

      private

      # The first call of the block stands for announcements during an interruption.
      def listen
        loop do
          @sentinels.with_sentinel do |sentinel|
            sentinel.call("SUBSCRIBE", CHANNEL)
            loop do
              @switched.call
              sentinel.read(nil)
            end
          end
        rescue Error
          sleep(PAUSE)
        end
      end
    end

    # Checks whether nodes answer.
    module Health
      # @return [Array<Boolean>] in their order
      def self.check(nodes, access) = nodes.map { |node| Thread.new { up?(node, access) } }.map(&:value)

      # A node that refuses the proxy's password or user is up.
      def self.up?(node, access)
        NodeConnection.open(node, access, patience: access.timeout) { |connection| connection.call("PING") == "PONG" }
      rescue RemoteError => e
        e.message.match?(/NOAUTH|NOPERM|WRONGPASS/)
      rescue Error
        false
      end
    end
    private_constant :SwitchWatch, :Launch, :TopologyWatch, :Health
  end
end
