# frozen_string_literal: true

module Plait
  module Io
    class Connector
      # How long each part of connecting took, in seconds; nil where there was none. After a failure the last one that is
      # set is the one that failed.
      Phases = Struct.new(:resolve, :connect, :tls)
    end
  end
end
