# frozen_string_literal: true

module Plait
  module Patches
    # Of TCPSocket, from Ruby 3.4 on.
    module SocketPatches
      def self.install = SlowStart.install

      # From Ruby 3.4 on TCPSocket.new looks up a name and connects to its addresses in C, side by side, and the whole loop
      # waits. With `fast_fallback: false` it calls the hooks, and tries one address after another.
      module SlowStart
        def self.install = ::TCPSocket.prepend(self)

        def initialize(*arguments, **options) = Patches.scheduler ? super(*arguments, fast_fallback: false, **options) : super
      end

      private_constant :SlowStart
    end
  end
end
