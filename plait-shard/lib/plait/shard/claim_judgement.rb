# frozen_string_literal: true

require "plait/values/errors"
require_relative "fence"

module Plait
  module Shard
    # Whether a reshard may begin, by what its nodes know of reshards before it and of other proxies.
    # @api private
    class ClaimJudgement
      # @return [Integer] the epoch of the last reshard that is settled; 0: the nodes know of none
      attr_reader :base

      # @param from [Settings]
      # @param to [Settings]
      # @param records [Hash{String => Fence::Record}] of each node
      # @param others [Hash{String => Hash}] of each node the other proxies that are alive
      def initialize(from, to, records, others)
        @from = from
        @to = to
        @others = others
        @mine = records.select { |name, record| record.there? && !elsewhere?(name, record) }
        @newest = @mine.each_value.max_by(&:epoch)
        @base = base_of(@newest)
      end

      # @param resume [Boolean] whether a reshard that was broken off may be taken over
      # @return [Symbol] (see Claim#begin)
      # @raise [UsageError] another reshard is under way or was broken off, or was about other places
      def step(resume:)
        return :moving unless @newest

        recent = @mine.select { |_, record| record.epoch >= @base }
        open = recent.reject { |_, record| record.settled? }
        return after_settled(recent) if open.empty?

        open.each_value { |record| check_broken(record, resume) }
        after_broken(recent, open)
      end

      # @return [void]
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

      # It has left this shard, or another one, and knows nothing of what is under way.
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
  end
end
