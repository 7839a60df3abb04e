# frozen_string_literal: true

module Plait
  module Lab
    # What a memory pass counted, per item: what starting the mechanism took is divided among the items too.
    #
    # - `items` how many were run to count it
    # - `bytes`, `objects`, `strings` allocated per item
    # - `retained_bytes`, `retained_objects`, `retained_strings` still alive after a full collection, per item
    # - `scope` a sentence when something was not counted, nil when everything was
    Allocations = Struct.new(:items, :bytes, :objects, :strings, :retained_bytes, :retained_objects, :retained_strings,
                             :scope, keyword_init: true)
  end
end
