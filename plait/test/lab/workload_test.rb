# frozen_string_literal: true

# bin/test: jruby

require_relative "builders"

class LabWorkloadTest < Minitest::Test
  include LabBuilders

  def test_around_returns_what_its_block_returns
    told = []
    around = ->(&block) { told << :start and block.call and told << :stop }
    workload = Lab::Workload.new(name: "w", cells: [cell], around: around)
    assert_equal(7, workload.around { told << :work and 7 })
    assert_equal(%i[start work stop], told)
    assert_equal(8, Lab::Workload.new(name: "w", cells: [cell]).around { 8 })
  end

  def test_it_needs_cells_with_labels_of_their_own
    assert_match(/has no cells/, refusal { Lab::Workload.new(name: "w", cells: []) })
    assert_match(/two cells called "sequence"/, refusal { Lab::Workload.new(name: "w", cells: [cell, cell]) })
  end

  private

  def refusal(&) = assert_raises(Plait::UsageError, &).message
end
