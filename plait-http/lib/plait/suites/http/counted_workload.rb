# frozen_string_literal: true

require "plait/suites/common/suite"
require "plait/lab"

module Plait
  module Suites
    class Http < Suite
      # A workload that has more to tell once it has been run: what its target has counted.
      class CountedWorkload < Lab::Workload
        # @param target [EmbeddedTarget, SiteTarget] is run around the cells
        def initialize(target, **options)
          super(around: ->(&block) { target.around(&block) }, **options)
          @target = target
        end

        # @return [Array<String>]
        def notes = super + @target.notes
      end
    end
  end
end
