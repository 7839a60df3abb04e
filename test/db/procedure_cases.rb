# frozen_string_literal: true

# Procedures of MySQL and MariaDB, which answer a call with several results.
module ProcedureCases
  def test_what_nobody_reads_of_a_procedure_is_nobody_elses
    db.query("CREATE OR REPLACE PROCEDURE thrice() BEGIN SELECT 1 AS n; SELECT 2 AS n; SELECT 3 AS n; END")
    5.times do |number|
      assert_equal(1, db.query("CALL thrice()").value)
      assert_equal(number, db.query("SELECT #{number}").value)
    end
  end
end
