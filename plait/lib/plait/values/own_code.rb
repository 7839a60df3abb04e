# frozen_string_literal: true

module Plait
  # Which files are Plait's own, in installed gems and in a clone: a backtrace's line for the user is in another one.
  module OwnCode
    FILE = %r{/plait(?:-(?:io|http|server|rpc|shard|db|sidekiq))?(?:-\d[^/]*)?/lib/(?:plait|rackup/handler/plait)[/.]}

    # @param path [String] of a file, or a line of a backtrace
    def self.file?(path) = FILE.match?(path)
  end
  private_constant :OwnCode
end
