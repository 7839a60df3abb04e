# frozen_string_literal: true

module Plait
  class Server
    class Metrics
      # What the kernel has counted of connections that nobody accepted in time, on the whole machine (or in its container).
      class Kernel
        # In /proc/net/netstat => what it is called here.
        NAMES = { "ListenOverflows" => :overflows, "ListenDrops" => :drops }.freeze

        # @param path [String]
        def initialize(path = "/proc/net/netstat")
          @path = path
        end

        # @return [Hash{Symbol => Integer}] empty where the system doesn't tell
        def figures
          names, values = File.readlines(@path).grep(/\ATcpExt:/).map(&:split)
          return {} unless values

          names.zip(values).filter_map { |name, value| [NAMES[name], value.to_i] if NAMES.key?(name) }.to_h
        rescue SystemCallError
          {}
        end
      end
    end
  end
end
