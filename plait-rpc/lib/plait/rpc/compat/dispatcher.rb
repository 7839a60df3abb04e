# frozen_string_literal: true

require_relative "version"

module Plait
  module RPC
    module Compat
      # Included by who decides himself what becomes of a call: by `dispatch(method, arguments)`, whose block takes a result
      # before the method is over.
      module Dispatcher; end
    end
  end
end
