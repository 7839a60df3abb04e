# frozen_string_literal: true

module Support
  # The folder of the project, as Ruby names it in warnings and backtraces: with symbolic links resolved.
  ROOT = File.realpath("../..", __dir__)
end
